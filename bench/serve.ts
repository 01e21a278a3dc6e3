/**
 * Blobs to one and to sixteen clients over plain HTTP and TLS (MiB a second), and manifests a second: this registry
 * beside docker-registry over the very same store. A client of blobs is a process of curl with a connection of its own,
 * which takes what the server offers (docker-registry: HTTP/2 over TLS); of manifests, one of sixteen connections that
 * are kept alive. Beside the rates it tells the seconds of CPU for each GiB, of the server and of its clients: what they
 * need together of this machine's cores is the limit. A client fetches several blobs over its connection, as a pull of an
 * image does, so that what is measured is not how programs start. Interleaved runs, medians. `--mib N` of each blob, `--runs N`.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { digestOf } from '../src/oci/digest.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { openStore } from '../src/store/store.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { freePort } from '../src/up/network.ts';
import { repository } from '../tests/tier.ts';
import { listening, type RunningRegistry, startDockerRegistry } from './docker-registry.ts';
import { cpuSeconds, keep, median, rateOf, say, timed } from './measure.ts';

const { values: options } = parseArgs({
  options: { mib: { type: 'string', default: '64' }, runs: { type: 'string', default: '5' } },
});
const runs = Number(options.runs);
const mib = Number(options.mib);
const blobCount = 4;
const dir = mkdtempSync(join(tmpdir(), 'sluice-serve-'));
const tls = { cert: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };

async function startSluice(root: string, secure: boolean): Promise<RunningRegistry> {
  const port = await freePort();
  const args = ['registry', 'serve', '--store', root, '--listen', `127.0.0.1:${port}`];
  if (secure) args.push('--tls-cert', tls.cert, '--tls-key', tls.key);
  const child = spawn(join(repository, 'sluice'), args, { stdio: 'ignore' });
  const running = await listening(child, port);
  await sleep(500);
  return running;
}

/** Each client fetches its blobs one after the other. Answers the seconds of CPU that the clients took. */
async function fetchBlobs(urls: readonly string[], clients: number): Promise<number> {
  const before = childrenSeconds();
  const one = async (mine: readonly string[]) => {
    const args = ['-sSfk', ...mine.flatMap((url) => ['-o', '/dev/null', url])];
    const child = spawn('curl', args, { stdio: 'ignore' });
    const code = await new Promise((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`curl ended with ${code}`);
  };
  const shares = Array.from({ length: clients }, (_, client) =>
    urls.filter((_url, at) => at % clients === client),
  );
  await Promise.all(shares.map(one));
  return childrenSeconds() - before;
}

/** Seconds of CPU of all children of this process that have ended. */
function childrenSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return (user + system) / 100;
}

try {
  const authority = await createAuthority('bench');
  const pair = await issue(authority, { commonName: 'bench', ipAddresses: ['127.0.0.1'], usage: 'server' });
  writeFileSync(tls.cert, pair.certPem);
  writeFileSync(tls.key, pair.keyPem);
  const root = join(dir, 'store');
  const store = await openStore(root);
  const put = async (bytes: Uint8Array) => {
    const digest = digestOf(bytes);
    const writer = await store.begin(digest, bytes.length);
    await writer?.write(bytes);
    await writer?.commit();
    await store.linkLayer('bench/image', digest);
    return { mediaType: mediaTypes.ociLayerTar, digest, size: bytes.length };
  };
  const layers: { digest: string }[] = [];
  for (let at = 0; at < blobCount; at += 1) layers.push(await put(randomBytes(mib * 1024 * 1024)));
  const config = await put(Buffer.from('{}'));
  const bytes = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers }),
  );
  const manifest = digestOf(bytes);
  await store.putManifest('bench/image', { digest: manifest, mediaType: mediaTypes.ociManifest, bytes });
  const results = new Map<string, { ours: number[]; theirs: number[] }>();
  for (const [scheme, goal] of [
    ['http', 1.1],
    ['https', 1.8],
  ] as const) {
    const secure = scheme === 'https';
    const registries = {
      ours: await startSluice(root, secure),
      theirs: await startDockerRegistry(root, secure ? tls : undefined),
    };
    for (let turn = 0; turn <= runs; turn += 1) {
      for (const who of ['ours', 'theirs'] as const) {
        const base = `${scheme}://${registries[who].host}/v2/bench/image`;
        const note = (what: string, value: number) => {
          const known = results.get(what) ?? { ours: [], theirs: [] };
          if (turn > 0) known[who].push(value); // The first turn warms both.
          results.set(what, known);
        };
        for (const [width, blobsEach] of [
          [1, 16],
          [16, 4],
        ] as const) {
          const urls = Array.from(
            { length: width * blobsEach },
            (_, at) => `${base}/blobs/${layers[at % blobCount]?.digest}`,
          );
          const gib = (urls.length * mib) / 1024;
          const served = cpuSeconds(registries[who].pid);
          let clients = 0;
          const ms = await timed(async () => {
            clients = await fetchBlobs(urls, width);
          });
          const what = `${scheme}, ${width} clients`;
          note(`${what}, MiB/s (goal ${goal})`, (gib * 1024 * 1000) / ms);
          note(`${what}, CPU s/GiB, server`, (cpuSeconds(registries[who].pid) - served) / gib);
          note(`${what}, CPU s/GiB, clients`, clients / gib);
        }
        if (secure) continue;
        const pool = new Pool(`${scheme}://${registries[who].host}`, { connections: 16 });
        const path = `/v2/bench/image/manifests/${manifest}`;
        const headers = { accept: mediaTypes.ociManifest };
        const rate = await rateOf(3000, 16, async () => {
          const answer = await pool.request({ path, method: 'GET', headers });
          await answer.body.dump();
          if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}`);
        });
        note('manifests a second (goal 3)', rate);
        await pool.close();
      }
    }
    await registries.ours.close();
    await registries.theirs.close();
  }
  const shown = (value: number) => value.toFixed(value < 10 ? 2 : 0);
  say(`${''.padEnd(38)} sluice  docker-registry  ratio`);
  for (const [what, { ours, theirs }] of results) {
    const [a, b] = [median(ours), median(theirs)];
    say(`${what.padEnd(38)} ${shown(a).padStart(6)}  ${shown(b).padStart(15)}  ${(a / b).toFixed(2)}`);
  }
  keep('serve', { mib, runs, results: Object.fromEntries(results) });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
