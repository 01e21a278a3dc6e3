/**
 * Whether memory grows: a cluster of three nodes (`sluice up`) under a steady load of everything that people and
 * machines ask of it, over and over, with a sample of each process every ten seconds. A line through the second half
 * of the samples says how many MiB an hour a process gains; the first half is for what fills up once (the API's
 * history, compiled code, caches with a bound). `--minutes N` (30), `--program FILE` (the single file).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { names } from '../src/api/names.ts';
import { messageOf } from '../src/errors/error.ts';
import { createHttpClient } from '../src/http/client.ts';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { readSecretFile } from '../src/lock/secret.ts';
import { askNode } from '../src/node/socket.ts';
import { mediaTypes, parseManifest } from '../src/oci/manifest.ts';
import { nameRelease, requestRun } from '../src/preflight/request.ts';
import { knownBundles } from '../src/release/content.ts';
import { giveUpRelease, requestRelease } from '../src/release/request.ts';
import { closeWindow, openWindow } from '../src/rollout/window.ts';
import { upLayout } from '../src/up/layout.ts';
import { readState } from '../src/up/state.ts';
import { makeRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { type ClusterProcess, processesBelow, startCluster } from './cluster.ts';
import { ended } from './engines.ts';
import { keep, lineThrough, type Memory, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    program: { type: 'string', default: join(repository, 'sluice') },
  },
});

const sampleMs = 10_000;
const stepMs = 60_000;
/** MiB an hour, with a slope that is clear (|r|), from which a process counts as growing. */
const growth = { perHour: 20, correlation: 0.7 };

const dir = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
const key = testKey();
const installed = await makeRelease({ version: '1.0.0', dir, key: key.pair });
const next = await makeRelease({
  version: '1.1.0',
  previous: ['1.0.0'],
  dir,
  key: key.pair,
  blobBytes: 4 * 1024 * 1024,
});
writeFileSync(join(dir, 'key.pub'), key.pair.publicPem);
const layout = upLayout(join(dir, 'cluster'));
const cluster = await startCluster({
  program: options.program,
  dir: layout.dir,
  release: installed.path,
  key: join(dir, 'key.pub'),
});

const state = await readState(layout);
if (state === undefined) throw new Error('the cluster has no state');
const identity = loadKubeconfig(state.kubeconfig);
const client = createKubeClient({ ...identity, platform: 'standalone', userAgent: 'sluice-soak' });
const http = createHttpClient(identity.tls);
const { clusterVersionNamespace } = names('standalone');
const socket = join(layout.dir, 'nodes', 'master-0', 'run', 'node.sock');
const over = new AbortController();
const { signal } = over;

/** Each is done again and again, after a pause of so many milliseconds. */
const loads: Readonly<Record<string, { pauseMs: number; once: () => Promise<void> }>> = {
  windows: {
    pauseMs: 2_000,
    async once() {
      for (const { name } of state.nodes) {
        const notAfter = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
        await openWindow(client, name, { notAfter, once: true, release: '9.9.9' });
      }
      for (const { name } of state.nodes) await closeWindow(client, name);
    },
  },
  configMaps: {
    pauseMs: 500,
    async once() {
      const { ConfigMap } = client.kinds;
      const metadata = { name: `soak-${Date.now()}`, namespace: 'default' };
      await client.create(ConfigMap, { metadata, data: { text: 'a'.repeat(10_000) } });
      for (let at = 0; at < 5; at += 1) {
        const data = { text: String(at).repeat(10_000) };
        await client.patch(ConfigMap, metadata.name, { data }, { namespace: 'default' });
      }
      await client.delete(ConfigMap, metadata.name, { namespace: 'default' });
    },
  },
  watches: {
    pauseMs: 500,
    async once() {
      const { ConfigMap, NodeUpdate, Node, Secret } = client.kinds;
      const cut = new AbortController();
      const follow = async (kind: typeof ConfigMap | typeof NodeUpdate | typeof Node | typeof Secret) => {
        try {
          for await (const _ of client.watch(kind, { signal: cut.signal })) events += 1;
        } catch (error) {
          if (!cut.signal.aborted) throw error;
        }
      };
      const open = Promise.all([ConfigMap, NodeUpdate, Node, Secret, ConfigMap].map(follow));
      await sleep(1_500);
      cut.abort();
      await open;
    },
  },
  lock: {
    pauseMs: 500,
    async once() {
      const id = '50a50a50a50a50a50a50a50a50a50a50';
      const ask = async (call: string) => {
        const answer = await http.request({
          method: 'POST',
          url: new URL(`v1/${call}`, state.lockUrl).href,
          headers: {
            'fleet-lock-protocol': 'true',
            'content-type': 'application/json',
            authorization: `Bearer ${await readSecretFile(state.lockSecretFile)}`,
          },
          body: JSON.stringify({ client_params: { id, group: 'default' } }),
        });
        const text = await answer.text();
        if (answer.status !== 200) throw new Error(`${call}: ${answer.status} ${text}`);
      };
      await ask('pre-reboot');
      await ask('steady-state');
    },
  },
  releases: { pauseMs: 1_000, once: release },
  pulls: {
    pauseMs: 1_000,
    async once() {
      for (const { registry } of state.nodes) await pull(registry, installed.payload);
    },
  },
};

/** A disk comes, its release is checked, copied, pulled, let go and removed. */
async function release(): Promise<void> {
  await askNode(socket, 'POST /v1/media', { path: next.path });
  await untilKnown((known) => known?.mountedOn.length === 1);
  const { object, runID } = await requestRun(client, await nameRelease(client, { to: '1.1.0' }));
  const { name } = object.metadata;
  await waitFor(client, client.kinds.UpdatePreflight, name, (each) => each?.status?.runID === runID, {
    namespace: clusterVersionNamespace,
    timeoutMs: stepMs,
    signal,
  });
  await requestRelease(client, next.name, [installed.name]);
  await untilKnown((known) => known?.heldBy.length === state?.nodes.length);
  await askNode(socket, 'DELETE /v1/media', { media: next.path });
  for (const { registry } of state?.nodes ?? []) await pull(registry, next.payload);
  await client.delete(client.kinds.UpdatePreflight, name, { namespace: clusterVersionNamespace });
  await giveUpRelease(client, next.name);
  await untilKnown((known) => known === undefined);
}

async function untilKnown(
  is: (known: Awaited<ReturnType<typeof knownBundles>>[number] | undefined) => boolean,
): Promise<void> {
  const end = Date.now() + stepMs;
  while (!is((await knownBundles(client)).find(({ name }) => name === next.name))) {
    if (Date.now() > end) throw new Error(`the nodes were not as they should be for ${stepMs} ms`);
    await sleep(500, undefined, { signal });
  }
}

/** An image by digest, every byte of it. */
async function pull(registry: string, digest: string): Promise<void> {
  const get = async (path: string) => {
    const url = `https://${registry}/v2/openshift/release-images/${path}`;
    const answer = await http.request({ url, headers: { accept: mediaTypes.ociManifest } });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text.slice(0, 200)}`);
    return text;
  };
  const manifest = parseManifest(Buffer.from(await get(`manifests/${digest}`)), mediaTypes.ociManifest);
  if (!('layers' in manifest)) throw new Error(`${digest} is no image`);
  for (const each of [manifest.config, ...manifest.layers]) await get(`blobs/${each.digest}`);
}

let events = 0;
const counts = new Map<string, { done: number; failed: number; lastError?: string }>();

async function repeat(name: string, load: { pauseMs: number; once: () => Promise<void> }): Promise<void> {
  const count: { done: number; failed: number; lastError?: string } = { done: 0, failed: 0 };
  counts.set(name, count);
  while (!signal.aborted) {
    try {
      await load.once();
      count.done += 1;
    } catch (error) {
      if (signal.aborted) return;
      count.failed += 1;
      count.lastError = messageOf(error);
    }
    await sleep(load.pauseMs, undefined, { signal }).catch(() => {});
  }
}

interface Sample extends Memory {
  /** Hours since the load began. */
  readonly hours: number;
}

function trendOf(process: ClusterProcess, samples: readonly Sample[]) {
  const own = samples.map(({ ownMiB }) => ownMiB);
  const rss = samples.map(({ rssMiB }) => rssMiB);
  const later = samples.slice(Math.floor(samples.length / 2));
  const { slope, correlation } = lineThrough(later.map(({ hours, ownMiB }) => ({ x: hours, y: ownMiB })));
  return {
    role: process.role,
    node: process.node,
    samples: samples.length,
    ownMiB: { first: own[0] ?? 0, median: median(own), last: own.at(-1) ?? 0, peak: Math.max(...own) },
    rssMiB: { first: rss[0] ?? 0, median: median(rss), last: rss.at(-1) ?? 0, peak: Math.max(...rss) },
    ownMiBPerHour: slope,
    correlation,
    grows: slope > growth.perHour && correlation > growth.correlation,
  };
}

try {
  const processes = processesBelow(cluster.pid ?? 0);
  const samples = new Map<ClusterProcess, Sample[]>(processes.map((each) => [each, []]));
  const gone = new Set<ClusterProcess>();
  const began = performance.now();
  const endsAt = began + Number(options.minutes) * 60_000;
  const working = Object.entries(loads).map(([name, load]) => repeat(name, load));
  while (performance.now() < endsAt) {
    const hours = (performance.now() - began) / 3_600_000;
    for (const [each, seen] of samples) {
      try {
        seen.push({ hours, ...memoryOf(each.pid) });
      } catch {
        gone.add(each);
      }
    }
    await sleep(sampleMs);
  }
  over.abort();
  await Promise.all(working);
  const minutes = (performance.now() - began) / 60_000;
  say(
    `${minutes.toFixed(1)} minutes; own memory in MiB:\n${'process'.padEnd(26)} first median  last  peak   MiB/h     r`,
  );
  const results = [...samples].map(([each, seen]) => trendOf(each, seen));
  for (const each of results) {
    const { first, median: middle, last, peak } = each.ownMiB;
    const numbers = [first, middle, last, peak].map((value) => value.toFixed(1).padStart(6)).join('');
    const slope = `${each.ownMiBPerHour.toFixed(1).padStart(8)}${each.correlation.toFixed(2).padStart(6)}`;
    const words = each.grows ? '   grows' : '';
    say(`${`${each.role} ${each.node ?? ''}`.padEnd(25)} ${numbers}${slope}${words}`);
  }
  for (const [name, { done, failed, lastError }] of counts) {
    say(
      `${name.padEnd(12)} ${done} times${failed === 0 ? '' : `, ${failed} failed, the last: ${lastError}`}`,
    );
  }
  say(`the watches saw ${events} events`);
  if (gone.size > 0) say(`ended meanwhile: ${[...gone].map(({ role, node }) => `${role} ${node}`)}`);
  keep('soak', { minutes, loads: Object.fromEntries(counts), events, ended: gone.size, results });
} finally {
  over.abort();
  await client.close();
  await http.close();
  await ended(cluster, 'SIGTERM');
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
