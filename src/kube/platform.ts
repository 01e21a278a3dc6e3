import type { CustomResourceDefinition } from '../api/core.ts';
import { machineConfigGroup, type Platform, sluiceGroup } from '../api/kinds.ts';
import { labels, partOf } from '../api/names.ts';
import { createKubeClient, type KubeClient } from './client.ts';
import { isNotFound } from './error.ts';
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

export interface PlatformOptions {
  readonly userAgent?: string;
  readonly platform?: Platform;
  /** Whoever installs decides by whose definition it is where the content kinds go; all others by what was installed. */
  readonly installs?: boolean;
}

/** A client for an identity, its platform found out by asking. Errors: as the client's. */
export async function connect(
  identity: KubeconfigIdentity,
  options: PlatformOptions = {},
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
      machineConfigOperatorServes:
        platform === 'openshift' &&
        (options.installs === true
          ? await isOperatorsDefinition(read)
          : await servesOwnContentKinds(read, groups)),
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

/** Whether a definition of InternalReleaseImage stands in the platform's group that is not ours. */
async function isOperatorsDefinition(read: (path: string) => Promise<unknown>): Promise<boolean> {
  const name = `internalreleaseimages.${machineConfigGroup}`;
  try {
    const definition = (await read(
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`,
    )) as CustomResourceDefinition;
    return definition.metadata.labels?.[labels.partOf] !== partOf;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
