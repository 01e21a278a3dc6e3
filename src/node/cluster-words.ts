import { finalizers, names } from '../api/names.ts';
import type { InternalReleaseImage } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Logger } from '../observe/log.ts';
import { parseInUse } from '../release/in-use.ts';
import type { RemovalFacts } from './removal.ts';

/**
 * Names that InternalReleaseImage asks this node to hold; undefined where nothing says so: then nothing is
 * removed. An object on its way out asks for nothing, as long as our finalizer proves that the controller saw it.
 */
export function desiredReleases(object: InternalReleaseImage | undefined): readonly string[] | undefined {
  if (object === undefined) return undefined;
  if (object.metadata.deletionTimestamp === undefined) return object.spec.releases.map((each) => each.name);
  return object.metadata.finalizers?.includes(finalizers.internalReleaseImage) === true ? [] : undefined;
}

/** Read from the API itself, not from a cache: bytes go by this. What cannot be read is unknown. */
export async function readRemovalFacts(client: KubeClient, logger: Logger): Promise<RemovalFacts> {
  const { internalReleaseImage, inUse, machineConfigNamespace } = names(client.platform);
  const { kinds } = client;
  try {
    const object = await client.tryGet(kinds.InternalReleaseImage, internalReleaseImage);
    const desired = desiredReleases(object);
    const configMap = await client.tryGet(kinds.ConfigMap, inUse, machineConfigNamespace);
    return {
      desired: desired === undefined ? undefined : new Set(desired),
      inUse: parseInUse(configMap?.data),
    };
  } catch (error) {
    logger.warn({ error: messageOf(error) }, 'the cluster cannot say what may be removed');
    return { desired: undefined, inUse: undefined };
  }
}
