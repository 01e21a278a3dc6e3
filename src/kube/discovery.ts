import { apiVersionOf, type KindRef, type KindTable } from '../api/kinds.ts';
import { isNotFound } from './error.ts';

export interface Discovery {
  resolve(apiVersion: string, kind: string): Promise<KindRef | undefined>;
  serves(kind: KindRef): Promise<boolean>;
}

interface ResourceList {
  resources?: { name: string; kind: string; namespaced: boolean }[];
}

/**
 * Which kinds the API serves. A group version that answered is kept; a kind that is missing is asked for again,
 * since its CustomResourceDefinition may have come meanwhile.
 */
export function createDiscovery(table: KindTable, read: (path: string) => Promise<unknown>): Discovery {
  const known = new Map<string, KindRef>();
  for (const kind of Object.values(table) as KindRef[]) known.set(`${apiVersionOf(kind)} ${kind.kind}`, kind);
  const discovered = new Map<string, Map<string, KindRef>>();

  async function discover(apiVersion: string): Promise<Map<string, KindRef>> {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const kinds = new Map<string, KindRef>();
    let list: ResourceList = {};
    try {
      list = (await read(path)) as ResourceList;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    for (const resource of list.resources ?? []) {
      if (resource.name.includes('/')) continue; // A subresource.
      kinds.set(resource.kind, {
        kind: resource.kind,
        plural: resource.name,
        group: group ?? '',
        version: version ?? '',
        namespaced: resource.namespaced,
      });
    }
    discovered.set(apiVersion, kinds);
    return kinds;
  }

  return {
    async resolve(apiVersion, kind) {
      const found = known.get(`${apiVersion} ${kind}`) ?? discovered.get(apiVersion)?.get(kind);
      return found ?? (await discover(apiVersion)).get(kind);
    },
    async serves(kind) {
      const apiVersion = apiVersionOf(kind);
      const found = discovered.get(apiVersion)?.get(kind.kind);
      return found !== undefined || (await discover(apiVersion)).has(kind.kind);
    },
  };
}
