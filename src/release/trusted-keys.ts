import { names } from '../api/names.ts';
import type { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { loadTrustedKeys, type TrustedKey } from '../trust/keys.ts';

/**
 * The keys whose signatures count: the cluster's ConfigMap, and a directory of this machine. A key that cannot
 * be read is passed over, so that one mistake does not lock out the others.
 */
export async function trustedKeys(
  client: KubeClient,
  directory?: string,
  onInvalid: (name: string, error: SluiceError) => void = () => {},
): Promise<TrustedKey[]> {
  const { trustedKeys: name, configNamespace } = names(client.platform);
  const configMap = await client.tryGet(client.kinds.ConfigMap, name, configNamespace);
  const keys = await loadTrustedKeys(configMap?.data ?? {}, onInvalid);
  if (directory !== undefined) keys.push(...(await loadTrustedKeys(directory, onInvalid)));
  return [...new Map(keys.map((key) => [key.fingerprint, key])).values()];
}
