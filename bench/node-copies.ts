import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubeObject } from '../src/api/core.ts';
import type { KindRef } from '../src/api/kinds.ts';
import { names } from '../src/api/names.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { createInformer } from '../src/kube/informer.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { requestRelease } from '../src/release/request.ts';
import { upLayout } from '../src/up/layout.ts';
import { makeRelease, type TestRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { processesBelow, startCluster } from './cluster.ts';
import { ended } from './engines.ts';
import { cpuSeconds } from './measure.ts';
import { makeMedium } from './medium.ts';

const key = testKey('maker');
const program = join(repository, 'sluice');

/** What a cluster is installed with before. */
export async function smallRelease(dir: string): Promise<TestRelease> {
  return await makeRelease({ version: '1.0.0', dir, key: key.pair });
}

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

/** What vouches for `bigRelease`, SPKI PEM. */
export const publicKey = key.pair.publicPem;

export interface NodeCopies {
  readonly seconds: number;
  /** Of CPU, of all processes of the cluster, by what they do. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** What was read from the medium, by whomever. */
  readonly mediumBytes: number;
  /** Writes to the API from the wish until every node has it, by kind and by node. */
  readonly writes: Readonly<Record<string, number>>;
}

/**
 * One slow disk, attached to the first of some nodes of `sluice up`, each with its processes: from the wish for the
 * release until each node holds it verified. The nodes share this machine's own disk and its cores.
 */
export async function copyToNodes(
  of: { readonly dir: string; readonly installed: TestRelease; readonly release: TestRelease },
  nodes: number,
  mediumBytesPerSecond: number,
): Promise<NodeCopies> {
  const { release } = of;
  const dir = mkdtempSync(join(of.dir, 'cluster-'));
  const keyFile = join(dir, 'key.pub');
  writeFileSync(keyFile, publicKey);
  const layout = upLayout(join(dir, 'up'));
  const cluster = await startCluster({
    program,
    dir: layout.dir,
    release: of.installed.path,
    key: keyFile,
    nodes,
  });
  const medium = makeMedium({
    dir,
    content: release.path,
    mib: bundleBytes(release) / 1024 ** 2,
    bytesPerSecond: mediumBytesPerSecond,
  });
  const client = createKubeClient({
    ...loadKubeconfig(layout.kubeconfig),
    platform: 'standalone',
    userAgent: 'sluice-bench',
  });
  const over = new AbortController();
  try {
    const { InternalReleaseImage, NodeUpdate } = client.kinds;
    const media = ['media', 'attach', medium.path, '--dir', layout.dir, '--node', 'master-0'];
    await promisify(execFile)(program, media);
    await waitFor(
      client,
      InternalReleaseImage,
      names(client.platform).internalReleaseImage,
      (object) => object?.status?.releases.some(({ name }) => name === release.name) === true,
      { timeoutMs: 60_000 },
    );
    const writes = await countWrites(client, over.signal);
    const used = () => usedBelow(cluster.pid ?? 0);
    const [before, cpuBefore, began] = [medium.bytesRead(), used(), performance.now()];
    await requestRelease(client, release.name, [of.installed.name]);
    await Promise.all(
      Array.from({ length: nodes }, (_, at) =>
        waitFor(
          client,
          NodeUpdate,
          `master-${at}`,
          (object) => object?.status?.store?.some(({ name }) => name === release.name) === true,
          { timeoutMs: 600_000 },
        ),
      ),
    );
    const seconds = (performance.now() - began) / 1000;
    const cpu = used();
    return {
      seconds,
      cpuSeconds: Object.fromEntries(
        Object.entries(cpu).map(([role, spent]) => [role, spent - (cpuBefore[role] ?? 0)]),
      ),
      mediumBytes: medium.bytesRead() - before,
      writes: writes(),
    };
  } finally {
    over.abort();
    await client.close();
    await ended(cluster, 'SIGTERM');
    medium.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function usedBelow(root: number): Record<string, number> {
  const used: Record<string, number> = {};
  for (const { pid, role } of processesBelow(root)) used[role] = (used[role] ?? 0) + cpuSeconds(pid);
  return used;
}

/** Counts from now on; what is answered tells how many writes there were of each object that a copy may write. */
async function countWrites(
  client: KubeClient,
  signal: AbortSignal,
): Promise<() => Readonly<Record<string, number>>> {
  const writes: Record<string, number> = {};
  let counting = false;
  const count = async <T extends KubeObject>(kind: KindRef<T>) => {
    const informer = createInformer(client, kind, { logger: silentLogger, clock: systemClock, signal });
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
  counting = true;
  return () => ({ ...writes });
}

/** Bytes of a bundle as it lies on its medium. */
export function bundleBytes(release: TestRelease): number {
  return release.document.images.reduce((sum, each) => sum + each.closureBytes, 0);
}
