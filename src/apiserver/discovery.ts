import { parseGroupVersion } from './object.ts';
import type { Resources } from './resources.ts';
import type { Served, ServedGroup } from './served.ts';

/** What `/api` and `/apis` answer: which groups, versions and resources there are. */

const categoriesOf = ({ categories }: Served) => (categories.length === 0 ? {} : { categories });
const shortNamesOf = ({ shortNames }: Served) => (shortNames.length === 0 ? {} : { shortNames });

/** Aggregated discovery (apidiscovery.k8s.io, APIGroupDiscoveryList) of the core group, or of all others. */
export function aggregatedDiscovery(resources: Resources, core: boolean, version: 'v2' | 'v2beta1'): unknown {
  const groups = resources.groups().filter(({ group }) => (group === '') === core);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map((entry) => ({
        version: entry.version,
        freshness: 'Current',
        resources: entry.resources.map(discoveredResource),
      })),
    })),
  };
}

function discoveredResource(served: Served): unknown {
  const { group, version, kind } = served;
  return {
    resource: served.plural,
    responseKind: { group, version, kind },
    scope: served.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: served.singular,
    verbs: served.verbs,
    ...shortNamesOf(served),
    ...categoriesOf(served),
    ...(served.subresources.length === 0
      ? {}
      : {
          subresources: served.subresources.map((subresource) => ({
            subresource: subresource.name,
            responseKind: subresource.kind ?? { group, version, kind },
            verbs: subresource.verbs,
          })),
        }),
  };
}

/** `/api`: the versions of the core group. */
export function coreVersions(serverAddress: string): unknown {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `/apis`. */
export function groupList(resources: Resources): unknown {
  const groups = resources.groups().filter(({ group }) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) };
}

function groupOf({ group, versions }: ServedGroup) {
  const named = versions.map(({ version }) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: named, preferredVersion: named[0] };
}

/** `/apis/{group}`; undefined where there is none. */
export function groupDocument(resources: Resources, name: string): unknown {
  const found = resources.groups().find(({ group }) => group === name && group !== '');
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(found) };
}

/** `/api/v1`, `/apis/{group}/{version}`; undefined where there is none. */
export function resourceList(resources: Resources, apiVersion: string): unknown {
  const { group, version } = parseGroupVersion(apiVersion);
  const found = resources
    .groups()
    .find((entry) => entry.group === group)
    ?.versions.find((entry) => entry.version === version);
  return (
    found && {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersion,
      resources: found.resources.flatMap((served) => [
        {
          name: served.plural,
          singularName: served.singular,
          namespaced: served.namespaced,
          kind: served.kind,
          verbs: served.verbs,
          ...shortNamesOf(served),
          ...categoriesOf(served),
        },
        ...served.subresources.map((subresource) => ({
          name: `${served.plural}/${subresource.name}`,
          singularName: '',
          namespaced: served.namespaced,
          ...(subresource.kind === undefined
            ? {}
            : { group: subresource.kind.group, version: subresource.kind.version }),
          kind: subresource.kind?.kind ?? served.kind,
          verbs: subresource.verbs,
        })),
      ]),
    }
  );
}
