import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { preload } from '../src/copy/preload.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { selfCommand } from '../src/program/self.ts';
import { freePort } from '../src/up/network.ts';
import { makeRelease, testKey } from './bundles.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-handover-'));
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

async function startRegistry(port: number): Promise<ChildProcess> {
  const [program, ...flags] = selfCommand();
  const words = [
    'registry',
    'serve',
    '--store',
    join(dir, 'store'),
    '--listen',
    `127.0.0.1:${port}`,
    '--reuse-port',
    '--drain',
    '60s',
  ];
  const child = spawn(program, [...flags, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk));
  while (!said.includes('the registry answers')) {
    assert.equal(child.exitCode, null, said);
    await systemClock.sleep(50);
  }
  return child;
}

test('a new registry takes over from an old one, whose pull goes on to its last byte', async () => {
  const key = testKey();
  const release = await makeRelease({ version: '1.0.0', dir, key: key.pair, blobBytes: 24 * 1024 * 1024 });
  const media = await openMedia(release.path);
  await preload(media.content, release.name, join(dir, 'store'), {
    keys: [key.trusted],
    signal: new AbortController().signal,
    clock: systemClock,
  });
  await media.close();
  const port = await freePort();
  const old = await startRegistry(port);
  const { repository, digest } = await largestBlob(port, release.payload);
  // A slow client: it has its first bytes from the old one, and reads on only when that has been told to stop.
  const pull = await begin(`http://127.0.0.1:${port}/v2/${repository}/blobs/${digest}`);
  const next = await startRegistry(port);
  old.kill('SIGTERM');
  await systemClock.sleep(300);
  for (let asked = 0; asked < 50; asked += 1)
    assert.equal(await status(`http://127.0.0.1:${port}/v2/`), 200, 'new clients are answered');
  assert.equal(old.exitCode, null, 'it waits for its pull');
  assert.equal(await pull.digest(), digest);
  await new Promise((resolve) => (old.exitCode === null ? old.once('exit', resolve) : resolve(undefined)));
  assert.equal(old.exitCode, 0);
  assert.equal(await status(`http://127.0.0.1:${port}/v2/`), 200);
  next.kill('SIGTERM');
});

function begin(url: string): Promise<{ digest(): Promise<string> }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.pause();
      assert.equal(response.statusCode, 200);
      resolve({
        async digest() {
          const hash = createHash('sha256');
          for await (const chunk of response) hash.update(chunk);
          return `sha256:${hash.digest('hex')}`;
        },
      });
    }).on('error', reject);
  });
}

function status(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on('error', reject);
  });
}

/** The layer of a component that is larger than any buffer on the way. */
async function largestBlob(port: number, payload: string): Promise<{ repository: string; digest: string }> {
  const tags = (await json(`http://127.0.0.1:${port}/v2/openshift/release/tags/list`)) as { tags: string[] };
  let best = { repository: 'openshift/release-images', digest: payload, size: 0 };
  for (const tag of tags.tags) {
    const manifest = (await json(`http://127.0.0.1:${port}/v2/openshift/release/manifests/${tag}`)) as {
      layers?: { digest: string; size: number }[];
    };
    for (const layer of manifest.layers ?? []) {
      if (layer.size > best.size) best = { repository: 'openshift/release', ...layer };
    }
  }
  assert.ok(best.size > 16 * 1024 * 1024, `the largest layer has ${best.size} bytes`);
  return best;
}

async function json(url: string): Promise<unknown> {
  const accept =
    'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/json';
  const answer = await fetch(url, { headers: { accept } });
  assert.equal(answer.status, 200, url);
  return await answer.json();
}
