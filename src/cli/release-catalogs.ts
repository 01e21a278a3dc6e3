import { openBundle } from '../bundle/bundle.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { applyCatalogs, type CatalogOutcome, type CatalogResult, nameOf } from '../release/catalog-apply.ts';
import { catalogObjects } from '../release/catalogs.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import { openClusterContent } from './cluster-content.ts';
import { note, print, printObject } from './output.ts';
import { gather, type Options, resolveName } from './release-actions.ts';

/** `sluice release catalogs`: what the cluster needs to find the operators of a release; shown, tried or applied. */
export async function catalogs(client: KubeClient, text = '', options: Options): Promise<void> {
  // The option takes no other word.
  const format = options.output === 'json' ? 'json' : 'yaml';
  const facts = await gather(client);
  const name = resolveName(text, facts);
  const bundle = facts.bundles.find((each) => each.name === name);
  if (bundle === undefined)
    throw new SluiceError('NotFound', `${name} is neither held nor mounted`, {
      next: 'See what is at hand: sluice release ls; attach media that carry it: sluice media attach PATH.',
    });
  const content = await openClusterContent(client, options);
  try {
    const reference = { digest: bundle.bundleDigest };
    const { document } = await openBundle(content, reference, await trustedKeys(client));
    const versions = options.olm === undefined ? (['v0', 'v1'] as const) : [options.olm];
    const items = catalogObjects(document, {
      versions,
      defaultSourcesOff: options.defaultSourcesOff === true,
      namespace: options.namespace ?? marketplaceOf(client),
    });
    if (items.length === 0) note(`${name} carries no catalog`);
    if (options.apply !== true && options.dryRun !== true) {
      await printObject({ apiVersion: 'v1', kind: 'List', items }, format);
      return;
    }
    const dryRun = options.dryRun === true;
    const result = await applyCatalogs(client, items, { dryRun });
    if (options.output === undefined) tell(result, dryRun);
    else await printObject(resultData(result, dryRun), format);
  } finally {
    await content.close();
  }
}

/** Where OLM looks for CatalogSources that every namespace may use. */
function marketplaceOf({ platform }: KubeClient): string {
  return platform === 'kubernetes' ? 'olm' : 'openshift-marketplace';
}

const outcomeWords: Readonly<Record<CatalogOutcome, string>> = {
  created: 'created',
  changed: 'configured',
  unchanged: 'unchanged',
  notServed: 'left out: the cluster does not serve the kind',
};

function tell({ applied, left }: CatalogResult, dryRun: boolean): void {
  const end = dryRun ? ' (dry run)' : '';
  for (const { object, outcome } of applied) print(`${nameOf(object)} ${outcomeWords[outcome]}${end}`);
  for (const object of left) {
    const { namespace } = object.metadata;
    const where = namespace === undefined ? '' : `-n ${namespace} `;
    note(
      `${nameOf(object)} is of another release and stays; if nothing installs from it: kubectl ${where}delete ${nameOf(object)}`,
    );
  }
  if (dryRun) note('nothing was changed; --apply does it');
}

/** As a program reads it. */
function resultData({ applied, left }: CatalogResult, dryRun: boolean): object {
  const named = ({ kind, metadata: { name, namespace } }: CatalogResult['left'][number]) => ({
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
  });
  return {
    dryRun,
    applied: applied.map(({ object, outcome }) => ({ ...named(object), outcome })),
    left: left.map(named),
  };
}

/** `sluice release mirrors`: the mirror sets of the cluster as a file of podman, skopeo and CRI-O. */
export async function mirrors(client: KubeClient): Promise<void> {
  const { registriesConf } = await import('../release/registries-conf.ts');
  const { items } = await client.list(client.kinds.ImageDigestMirrorSet);
  if (items.length === 0) note('the cluster has no mirror set yet: the controller makes it');
  process.stdout.write(registriesConf(items));
}
