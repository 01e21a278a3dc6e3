import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { KubeObject } from '../src/api/core.ts';
import type { KindRef } from '../src/api/kinds.ts';
import { createInformer } from '../src/kube/informer.ts';
import type { ContentManager } from '../src/node/content.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { makeRelease, type TestRelease } from '../tests/bundles.ts';
import { key, startContentPlane, until } from '../tests/content-plane.ts';
import { slowMedium } from './slow-medium.ts';

/** A release of incompressible images. */
export async function bigRelease(dir: string, mib: number, images: number): Promise<TestRelease> {
  const bytes = Math.floor((mib * 1024 * 1024) / images);
  return await makeRelease({
    version: '1.1.0',
    previous: ['1.0.0'],
    dir,
    key: key.pair,
    images: Object.fromEntries(
      Array.from({ length: images }, (_, at) => [
        `image-${at}`,
        { files: [{ path: '/more', data: randomBytes(bytes) }] },
      ]),
    ),
  });
}

export interface NodeCopies {
  readonly seconds: number;
  /** Of CPU, of all nodes, their registries and the API, which share one process. */
  readonly cpuSeconds: number;
  /** What all nodes together read from the medium. */
  readonly mediumBytes: number;
  /** Writes to the API from the wish until every node has it, by kind and by node. */
  readonly writes: Readonly<Record<string, number>>;
}

/**
 * One medium, attached to the first of some nodes with real registries and a real API; they share
 * this machine's disk, so none is asked to spare it for others: from the wish for the release until each node holds it verified.
 */
export async function copyToNodes(
  release: TestRelease,
  nodes: number,
  mediumBytesPerSecond: number,
): Promise<NodeCopies> {
  const plane = await startContentPlane(nodes);
  try {
    const { client } = plane.cluster;
    const medium = slowMedium(realpathSync(release.path), mediumBytesPerSecond);
    const current = await plane.release('1.0.0');
    const managers: ContentManager[] = [];
    for (const node of plane.nodes) {
      await plane.preload(node, current);
      await plane.startRegistry(node);
      managers.push((await plane.startManager(node, true)).manager);
    }
    await managers[0]?.attach(release.path);
    await plane.setCurrent(current);
    plane.startController();
    // Seen and read: what is said because the cluster has just begun is no part of the copy.
    await until('the release on the medium', async () => {
      const { status } = (await plane.object()) ?? {};
      const entry = status?.releases.find(({ name }) => name === release.name);
      return entry?.conditions?.some(({ message }) => message.endsWith('is possible'));
    });
    await until('credentials that every node accepts', async () => {
      const all = await client.list(client.kinds.NodeUpdate);
      return all.items.every((each) => each.status?.registryCredentials !== undefined);
    });

    const writes: Record<string, number> = {};
    let counting = false;
    const stop = new AbortController();
    const count = async <T extends KubeObject>(kind: KindRef<T>) => {
      const scope = { logger: silentLogger, clock: systemClock, signal: stop.signal };
      const informer = createInformer(client, kind, scope);
      const generations = new Map<string, number | undefined>();
      informer.onChange(({ object }) => {
        const { name, generation } = object.metadata;
        const what = `${kind.kind} ${name}`;
        const isWish = generations.has(name) && generations.get(name) !== generation; // A person's, not the copy's.
        generations.set(name, generation);
        if (counting && !isWish) writes[what] = (writes[what] ?? 0) + 1;
      });
      informer.start();
      await informer.synced();
    };
    await count(client.kinds.NodeUpdate);
    await count(client.kinds.MachineConfigNode);
    await count(client.kinds.InternalReleaseImage);
    const before = medium.bytesRead();
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    counting = true;
    await plane.ask(current.name, release.name);
    await until(
      'every copy',
      async () => {
        const all = await Promise.all(
          plane.nodes.map((node) => client.get(client.kinds.NodeUpdate, node.name)),
        );
        return all.every((each) => each.status?.store?.some(({ name }) => name === release.name));
      },
      { timeoutMs: 600_000 },
    );
    const seconds = (performance.now() - began) / 1000;
    const cpu = process.cpuUsage(cpuBefore);
    counting = false;
    stop.abort();
    return {
      seconds,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      mediumBytes: medium.bytesRead() - before,
      writes,
    };
  } finally {
    await plane.close();
  }
}

/** Bytes of a bundle as it lies on its medium. */
export function bundleBytes(release: TestRelease): number {
  return release.document.images.reduce((sum, each) => sum + each.closureBytes, 0);
}
