/**
 * Blobs to one and to sixteen clients over plain HTTP and TLS (MiB a second), and manifests a second: this registry
 * beside docker-registry over the very same store. The clients are curl, and sixteen connections kept alive for
 * manifests. Interleaved runs, medians. `--mib N` of each blob, `--runs N`.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { digestOf } from '../src/oci/digest.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { openStore } from '../src/store/store.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { repository } from '../tests/tier.ts';
import { freePort, listens, type RunningRegistry, startDockerRegistry } from './docker-registry.ts';
import { keep, median, rateOf, say, timed } from './measure.ts';

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
  while (!(await listens(port))) await sleep(100);
  await sleep(500);
  return {
    host: `127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        child.on('close', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

async function curl(urls: readonly string[], width: number): Promise<void> {
  const outputs = urls.flatMap((url) => ['-o', '/dev/null', url]);
  const args = [
    '-s',
    '-S',
    '-f',
    '-k',
    ...(width > 1 ? ['-Z', '--parallel-max', String(width)] : []),
    ...outputs,
  ];
  const child = spawn('curl', args, { stdio: 'ignore' });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`curl ended with ${code}`);
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
        for (const width of [1, 16]) {
          const urls = Array.from(
            { length: 16 },
            (_, at) => `${base}/blobs/${layers[at % blobCount]?.digest}`,
          );
          const ms = await timed(() => curl(urls, width));
          note(`${scheme}, ${width} clients, MiB/s (goal ${goal})`, (16 * mib * 1000) / ms);
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
  say(`${''.padEnd(38)} sluice  docker-registry  ratio`);
  for (const [what, { ours, theirs }] of results) {
    const [a, b] = [median(ours), median(theirs)];
    say(
      `${what.padEnd(38)} ${a.toFixed(0).padStart(6)}  ${b.toFixed(0).padStart(15)}  ${(a / b).toFixed(2)}`,
    );
  }
  keep('serve', { mib, runs, results: Object.fromEntries(results) });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
