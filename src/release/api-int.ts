import type { AnyObject } from '../api/core.ts';
import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';

/** The name by which any control-plane node's registry is reached: the host, without the port. */
export interface ApiInt {
  /**
   * Undefined where the platform has not said it (yet): then nothing is named by it. Errors: those of the client.
   */
  host(): Promise<string | undefined>;
}

/** The cluster's own description of where it runs (config.openshift.io/v1, `infrastructures`). */
const infrastructure = { apiVersion: 'config.openshift.io/v1', kind: 'Infrastructure', name: 'cluster' };

/**
 * On OpenShift the installation chooses the name; its Infrastructure object tells it, in the address by which nodes
 * reach the API. Elsewhere it is ours. A cluster keeps its name: what was told once is not asked for again.
 */
export function createApiInt(client: KubeClient): ApiInt {
  let told: string | undefined;
  return {
    async host() {
      if (client.platform !== 'openshift') return names(client.platform).apiInt;
      told ??= await readHost(client);
      return told;
    },
  };
}

async function readHost(client: KubeClient): Promise<string | undefined> {
  const { apiVersion, kind: kindName, name } = infrastructure;
  const kind = await client.resolveKind(apiVersion, kindName);
  return kind === undefined ? undefined : hostIn((await client.tryGet(kind, name)) as AnyObject | undefined);
}

/** The host of `status.apiServerInternalURI`; undefined where it is not told, or is no address. Pure. */
export function hostIn(object: AnyObject | undefined): string | undefined {
  const { status } = (object ?? {}) as { status?: { apiServerInternalURI?: unknown } };
  const uri = status?.apiServerInternalURI;
  if (typeof uri !== 'string' || !URL.canParse(uri)) return undefined;
  const { hostname } = new URL(uri);
  // The schema of status.image takes a name with a dot, and nothing else.
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname) ? hostname : undefined;
}
