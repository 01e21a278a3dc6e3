import { type Platform, sluiceGroup } from '../api/kinds.ts';
import { createKubeClient, type KubeClient } from './client.ts';
import type { KubeconfigIdentity } from './kubeconfig.ts';
import { createTransport } from './transport.ts';

interface GroupList {
  groups?: { name: string }[];
}

/**
 * Which platform answers at an API: OpenShift is known by its own group, our embedded API by the version that it
 * reports, and everything else is plain Kubernetes.
 */
export function platformOf(groups: readonly string[], gitVersion: string): Platform {
  if (/[-+]sluice\b/.test(gitVersion)) return 'standalone';
  return groups.includes('config.openshift.io') ? 'openshift' : 'kubernetes';
}

/** A client for an identity, its platform found out by asking. Errors: as the client's. */
export async function connect(
  identity: KubeconfigIdentity,
  options: { userAgent?: string; platform?: Platform } = {},
): Promise<KubeClient> {
  const from = { ...identity, ...(options.userAgent === undefined ? {} : { userAgent: options.userAgent }) };
  const transport = createTransport(from);
  try {
    const read = async (path: string) => JSON.parse(await transport.text({ method: 'GET', path })) as unknown;
    const groups = ((await read('/apis')) as GroupList).groups?.map((group) => group.name) ?? [];
    const { gitVersion } = (await read('/version')) as { gitVersion: string };
    const platform = options.platform ?? platformOf(groups, gitVersion);
    return createKubeClient({
      ...from,
      platform,
      machineConfigOperatorServes: platform === 'openshift' && (await servesOwnContentKinds(read, groups)),
    });
  } finally {
    await transport.close();
  }
}

/** Whether the content kinds are served under our own group: then the platform's are its operator's to write. */
async function servesOwnContentKinds(
  read: (path: string) => Promise<unknown>,
  groups: readonly string[],
): Promise<boolean> {
  if (!groups.includes(sluiceGroup)) return false;
  const list = (await read(`/apis/${sluiceGroup}/v1`)) as { resources?: { kind: string }[] };
  return list.resources?.some((resource) => resource.kind === 'InternalReleaseImage') ?? false;
}
