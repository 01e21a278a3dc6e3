import { names } from '../api/names.ts';
import type { InternalReleaseImage } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiError, isAlreadyExists, isConflict } from '../kube/error.ts';
import { type InUse, parseInUse } from './in-use.ts';
import { stepToFree } from './use-steps.ts';

/** The policy that keeps what is in use (deploy/standalone/40-release-guard.yaml). */
const guardPolicy = 'sluice-release-guard';
/** Writers that may meet before the last gives up. */
const attemptsMax = 5;

/** What is in use, as the controller published it; undefined where it cannot be told. */
export async function readInUse(client: KubeClient): Promise<InUse | undefined> {
  const { inUse, machineConfigNamespace } = names(client.platform);
  return parseInUse((await client.tryGet(client.kinds.ConfigMap, inUse, machineConfigNamespace))?.data);
}

/**
 * Asks for a release: its name goes into spec.releases. Where there is no InternalReleaseImage yet, it is made
 * with what nodes hold, so that asking for one release never gives up another.
 *
 * @param held names of the releases that nodes hold. Answers false where it was asked for already.
 */
export async function requestRelease(
  client: KubeClient,
  name: string,
  held: readonly string[],
): Promise<boolean> {
  const { internalReleaseImage } = names(client.platform);
  const { InternalReleaseImage } = client.kinds;
  return await untilSettled(async () => {
    const object = await client.tryGet(InternalReleaseImage, internalReleaseImage);
    if (object === undefined) {
      const releases = [...new Set([...held, name])].sort().map((each) => ({ name: each }));
      await client.create(InternalReleaseImage, {
        metadata: { name: internalReleaseImage },
        spec: { releases },
      });
      return true;
    }
    if (object.spec.releases.some((each) => each.name === name)) return false;
    await patchReleases(client, object, [...object.spec.releases, { name }]);
    return true;
  });
}

/**
 * Gives a release up. Errors: InUse where something uses it (exit code 3), with what does; NotFound where
 * nobody asked for it.
 */
export async function giveUpRelease(client: KubeClient, name: string): Promise<void> {
  const { internalReleaseImage } = names(client.platform);
  await untilSettled(async () => {
    const object = await client.tryGet(client.kinds.InternalReleaseImage, internalReleaseImage);
    const rest = object?.spec.releases.filter((each) => each.name !== name) ?? [];
    if (object === undefined || rest.length === object.spec.releases.length) {
      throw new SluiceError('NotFound', `${name} is not among the releases that the nodes should hold`, {
        next: 'See which are: sluice release ls',
      });
    }
    if (rest.length === 0) {
      throw new SluiceError('InUse', `${name} is the only release; the cluster cannot be without any`, {
        next: 'Add another release first: sluice release add VERSION.',
      });
    }
    try {
      await patchReleases(client, object, rest);
    } catch (error) {
      // The policy's own words say which release; what uses it, only the ConfigMap tells.
      if (!(error instanceof ApiError) || !error.message.includes(guardPolicy)) throw error;
      throw (await refusal(client, name)) ?? error;
    }
  });
}

/** Why the release cannot be given up; undefined where nothing is known against it. */
export async function refusal(client: KubeClient, name: string): Promise<SluiceError | undefined> {
  const inUse = await readInUse(client);
  if (inUse === undefined) {
    return new SluiceError('InUse', `it cannot be told whether ${name} is in use, so it stays`, {
      next: 'The controller tells it: see whether it runs (sluice cluster check; of sluice up: sluice up status), then run this again.',
    });
  }
  const why = inUse.names.get(name);
  if (why === undefined) return undefined;
  // What to do hangs on whether an update is under way; where that cannot be read, the reason alone tells.
  const { clusterVersion } = names(client.platform);
  const version = await client.tryGet(client.kinds.ClusterVersion, clusterVersion).catch(() => undefined);
  return new SluiceError('InUse', `${name} is in use: ${why}`, { next: stepToFree(why, version) });
}

async function patchReleases(
  client: KubeClient,
  object: InternalReleaseImage,
  releases: readonly { name: string }[],
): Promise<void> {
  const { name, resourceVersion } = object.metadata;
  await client.patch(client.kinds.InternalReleaseImage, name, {
    metadata: { resourceVersion },
    spec: { releases },
  });
}

async function untilSettled<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attemptsMax || !(isConflict(error) || isAlreadyExists(error))) throw error;
    }
  }
}
