import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import type { RegistryIdentity } from './content.ts';

/** The key of the ConfigMap that holds the authorities of the nodes' registries, PEM. */
export const authorityKey = 'ca-bundle.crt';

/**
 * How a person reads from the nodes' registries. Where these have an authority of their own, which is published in the
 * cluster, the person's certificate proves nothing to them: then the password is asked for, as far as the person may.
 *
 * @param identity what the person's kubeconfig has.
 */
export async function readerIdentity(
  client: KubeClient,
  identity: RegistryIdentity,
): Promise<RegistryIdentity> {
  const { registryCa, machineConfigNamespace } = names(client.platform);
  const published = await client
    .tryGet(client.kinds.ConfigMap, registryCa, machineConfigNamespace)
    .catch(() => undefined); // Who may not see it tries with what is at hand.
  const bundle = published?.data?.[authorityKey]?.trim() ?? '';
  const own = identity.caPem.trim();
  if (bundle === '' || (own !== '' && bundle.includes(own))) return identity;
  return { caPem: `${bundle}\n${own}\n` };
}
