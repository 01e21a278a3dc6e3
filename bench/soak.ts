/**
 * Whether memory grows: a cluster of three nodes (`sluice up`) under a steady load of everything that people and
 * machines ask of it, over and over. What a process takes from the system every ten seconds says how much it needs, but
 * not whether it grows: a heap fills up until it is collected, which may be once in a quarter of an hour. So from a third
 * of the time on, every two minutes, each process is made to collect all that nobody reaches, and what is left is
 * weighed: the live objects, and what the process still holds of the system. A line through these says how many MiB an
 * hour it gains. The first third is for what fills up once (the API's history, compiled code, caches with a bound).
 * `--minutes N` (30), `--program FILE` (the single file).
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
import { type Inspected, inspect, inspectable, type Live } from './heap.ts';
import { keep, lineThrough, type Memory, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    program: { type: 'string', default: join(repository, 'sluice') },
  },
});

const sampleMs = 10_000;
const stepMs = 60_000;
const weighMs = 120_000;
/** MiB an hour, with a slope that is clear (r), from which a process counts as growing. */
const growth = { live: 6, own: 20, correlation: 0.7 };

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
  env: inspectable,
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
      open.catch(() => {}); // One that is cut before its time is told below.
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

/** One process: what it takes, and what is left of it after each collection. */
interface Seen {
  readonly samples: Sample[];
  readonly weighed: (Sample & Live)[];
}

const rangeOf = (values: readonly number[]) => ({
  first: values[0] ?? 0,
  median: median(values),
  last: values.at(-1) ?? 0,
  peak: Math.max(...values),
});

function trendOf(process: ClusterProcess, { samples, weighed }: Seen) {
  const line = (of: (each: Sample & Live) => number) => {
    const { slope, correlation } = lineThrough(weighed.map((each) => ({ x: each.hours, y: of(each) })));
    return { perHour: slope, correlation };
  };
  const liveOf = ({ heapMiB, externalMiB }: Live) => heapMiB + externalMiB;
  const live = line(liveOf);
  const own = line(({ ownMiB }) => ownMiB);
  const isClear = ({ correlation }: { correlation: number }) => correlation > growth.correlation;
  return {
    role: process.role,
    node: process.node,
    samples: samples.length,
    weighed: weighed.length,
    rssMiB: rangeOf(samples.map(({ rssMiB }) => rssMiB)),
    ownMiB: rangeOf(samples.map(({ ownMiB }) => ownMiB)),
    liveMiB: { ...rangeOf(weighed.map(liveOf)), ...live },
    collectedOwnMiB: { ...rangeOf(weighed.map(({ ownMiB }) => ownMiB)), ...own },
    grows: (live.perHour > growth.live && isClear(live)) || (own.perHour > growth.own && isClear(own)),
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

try {
  const processes = processesBelow(cluster.pid ?? 0);
  const all = new Map<ClusterProcess, Seen>(processes.map((each) => [each, { samples: [], weighed: [] }]));
  const inspectors = new Map<ClusterProcess, Inspected>();
  const gone = new Set<ClusterProcess>();
  const began = performance.now();
  const lastsMs = Number(options.minutes) * 60_000;
  const working = Object.entries(loads).map(([name, load]) => repeat(name, load));
  const hours = () => (performance.now() - began) / 3_600_000;
  let weighAt = began + lastsMs / 3;
  while (performance.now() < began + lastsMs) {
    const weighs = performance.now() >= weighAt;
    if (weighs) weighAt += weighMs;
    for (const [each, { samples, weighed }] of all) {
      try {
        samples.push({ hours: hours(), ...memoryOf(each.pid) });
        if (!weighs) continue;
        const inspected = inspectors.get(each) ?? (await inspect(each.pid));
        inspectors.set(each, inspected);
        const live = await inspected.live();
        weighed.push({ hours: hours(), ...live, ...memoryOf(each.pid) });
      } catch (error) {
        if (isRunning(each.pid)) throw error;
        if (!gone.has(each))
          say(`${each.role} ${each.node ?? ''} ended after ${(60 * hours()).toFixed(1)} minutes`);
        gone.add(each);
      }
    }
    await sleep(sampleMs);
  }
  over.abort();
  await Promise.all(working);
  for (const inspected of inspectors.values()) inspected.end();
  const minutes = (performance.now() - began) / 60_000;
  say(`${minutes.toFixed(1)} minutes; MiB taken, live after a collection, and still taken then:`);
  say(`${'process'.padEnd(25)}   RSS  peak   live  last  MiB/h     r    own  last  MiB/h     r`);
  const results = [...all].map(([each, seen]) => trendOf(each, seen));
  for (const { role, node, rssMiB, liveMiB, collectedOwnMiB, grows } of results) {
    const columns = [
      [rssMiB.median, rssMiB.peak],
      ...[liveMiB, collectedOwnMiB].map((each) => [each.first, each.last, each.perHour]),
    ].map((values) => values.map((value) => value.toFixed(1).padStart(6)).join(''));
    const [taken, live, own] = columns;
    const r = (each: { correlation: number }) => each.correlation.toFixed(2).padStart(6);
    const name = `${role} ${node ?? ''}`.padEnd(25);
    say(`${name}${taken} ${live}${r(liveMiB)} ${own}${r(collectedOwnMiB)}${grows ? '   grows' : ''}`);
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
