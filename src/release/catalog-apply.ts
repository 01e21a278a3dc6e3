import type { AnyObject } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import { labels } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import { applyObject } from '../kube/apply.ts';
import { type KubeClient, pathOf } from '../kube/client.ts';
import { mergeManifest, sameValue } from '../kube/merge.ts';

/** `notServed`: this cluster has no such kind, since it runs the other OLM, or none. */
export type CatalogOutcome = 'created' | 'changed' | 'unchanged' | 'notServed';

export interface AppliedCatalog {
  readonly object: AnyObject;
  readonly outcome: CatalogOutcome;
}

export interface CatalogResult {
  readonly applied: readonly AppliedCatalog[];
  /** Catalogs of ours that the release does not have; they stay. */
  readonly left: readonly AnyObject[];
}

/**
 * Makes the catalogs of a release stand in the cluster, or says what that would change. Looked at as a whole before
 * anything is written: each object is tried on the API server first, where it is held against the schema of its
 * consumer and a field that it does not know is an error; an object of somebody else by one of our names ends it.
 *
 * Errors: Conflict (an object that is not ours), NotFound (the cluster has no OLM), and those of the API.
 */
export async function applyCatalogs(
  client: KubeClient,
  objects: readonly AnyObject[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<CatalogResult> {
  const planned: Planned[] = [];
  for (const object of objects) planned.push(await plan(client, object));
  const foreign = planned.filter((each) => each.foreign).map((each) => nameOf(each.object));
  if (foreign.length > 0) {
    throw new SluiceError('Conflict', `not made by Sluice, so they stay as they are: ${foreign.join(', ')}`, {
      next: `Delete or rename what stands there, or hand it over: kubectl label … ${labels.catalog}=`,
    });
  }
  const catalogs = planned.filter(({ object }) => isCatalog(object));
  if (catalogs.length > 0 && catalogs.every((each) => each.outcome === 'notServed')) {
    const kinds = [...new Set(catalogs.map(({ object }) => object.kind))].join(' and ');
    throw new SluiceError('NotFound', `the cluster serves no ${kinds}: it has no such OLM`, {
      next: 'Install OLM first, or say which it has: --olm v0 or v1.',
    });
  }
  for (const each of planned) await tryOut(client, each);
  if (!dryRun) {
    for (const each of planned) {
      if (each.outcome !== 'notServed') await applyObject(client, each.object);
    }
  }
  return {
    applied: planned.map(({ object, outcome }) => ({ object, outcome })),
    left: await leftOver(client, planned),
  };
}

interface Planned {
  readonly object: AnyObject;
  readonly kind?: KindRef;
  readonly outcome: CatalogOutcome;
  readonly foreign: boolean;
  /** What stands once it is applied. */
  readonly wanted?: AnyObject;
}

async function plan(client: KubeClient, object: AnyObject): Promise<Planned> {
  const { name, namespace } = object.metadata;
  const kind = await client.resolveKind(object.apiVersion, object.kind);
  if (kind === undefined) return { object, outcome: 'notServed', foreign: false };
  const standing = await client.tryGet(kind, name, namespace);
  if (standing === undefined) return { object, kind, outcome: 'created', foreign: false, wanted: object };
  const foreign = isCatalog(object) && standing.metadata.labels?.[labels.catalog] === undefined;
  const wanted = mergeManifest(standing, object) as AnyObject;
  return { object, kind, outcome: sameValue(wanted, standing) ? 'unchanged' : 'changed', foreign, wanted };
}

/** OperatorHub is the platform's object: it carries no label of ours. */
function isCatalog(object: AnyObject): boolean {
  return object.metadata.labels?.[labels.catalog] !== undefined;
}

/** The server answers as if it were written, and refuses what its schema does not know. */
async function tryOut(client: KubeClient, { kind, outcome, wanted }: Planned): Promise<void> {
  if (kind === undefined || wanted === undefined || outcome === 'unchanged') return;
  const { name, namespace } = wanted.metadata;
  await client.raw({
    method: outcome === 'created' ? 'POST' : 'PUT',
    path: pathOf(kind, namespace, outcome === 'created' ? undefined : name),
    query: { dryRun: 'All', fieldValidation: 'Strict' },
    body: { ...wanted, apiVersion: apiVersionOf(kind), kind: kind.kind },
  });
}

async function leftOver(client: KubeClient, planned: readonly Planned[]): Promise<AnyObject[]> {
  const kinds = new Map(
    planned.flatMap(({ kind, object }) => (kind && isCatalog(object) ? [[kind.plural, kind]] : [])),
  );
  const left: AnyObject[] = [];
  for (const kind of kinds.values()) {
    const { items } = await client.list(kind, { labelSelector: labels.catalog });
    const isOfRelease = ({ metadata }: AnyObject) =>
      planned.some(
        (each) =>
          each.kind?.plural === kind.plural &&
          each.object.metadata.name === metadata.name &&
          each.object.metadata.namespace === metadata.namespace,
      );
    left.push(...(items as AnyObject[]).filter((item) => !isOfRelease(item)));
  }
  return left;
}

/** As kubectl names it: `catalogsource/sluice-web`. */
export function nameOf({ kind, metadata }: AnyObject): string {
  return `${kind.toLowerCase()}/${metadata.name}`;
}
