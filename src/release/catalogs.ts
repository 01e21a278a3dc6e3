import { createHash } from 'node:crypto';
import type { AnyObject } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { BundleDocument, BundleImage } from '../bundle/document.ts';

/** A name is that of a service too (OLM makes one for each CatalogSource): a label of DNS. */
const nameLengthMax = 63;
const suffixDigits = 8;

export type OlmVersion = 'v0' | 'v1';

export interface CatalogOptions {
  /** For OLM as it was (CatalogSource), as it becomes (ClusterCatalog), or both. */
  readonly versions: readonly OlmVersion[];
  /** Also turns off the catalogs of the internet, which a disconnected cluster asks in vain. */
  readonly defaultSourcesOff: boolean;
  /** Where CatalogSources are looked for by every namespace. */
  readonly namespace: string;
}

/**
 * The objects by which a cluster finds the catalogs of a release. Names follow from the catalog's repository, so that
 * the next release replaces the image and adds no second catalog. Images are named by digest as their makers do; the
 * mirror set leads to the nodes.
 */
export function catalogObjects(
  document: Pick<BundleDocument, 'images' | 'version'>,
  of: CatalogOptions,
): AnyObject[] {
  const catalogs = document.images.filter((image) => image.role === 'catalog');
  const taken = nameCatalogs(catalogs);
  const objects = catalogs.flatMap((catalog) => {
    const name = taken.get(catalog) ?? '';
    return of.versions.map((version) =>
      version === 'v0'
        ? catalogSource(name, catalog, { namespace: of.namespace, version: document.version })
        : clusterCatalog(name, catalog),
    );
  });
  return objects.length > 0 && of.defaultSourcesOff ? [operatorHub, ...objects] : objects;
}

const ours = { [labels.catalog]: '' };

function catalogSource(
  name: string,
  { source, digest }: BundleImage,
  { namespace, version }: { readonly namespace: string; readonly version: string },
): AnyObject {
  return object({
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'CatalogSource',
    metadata: { name, namespace, labels: ours },
    spec: {
      sourceType: 'grpc',
      image: `${source}@${digest}`,
      displayName: `${slugOf(source)} of release ${version}`,
      publisher: 'Sluice',
      grpcPodConfig: { securityContextConfig: 'restricted' },
    },
  });
}

function clusterCatalog(name: string, { source, digest }: BundleImage): AnyObject {
  return object({
    apiVersion: 'olm.operatorframework.io/v1',
    kind: 'ClusterCatalog',
    metadata: { name, labels: ours },
    spec: {
      source: { type: 'Image', image: { ref: `${source}@${digest}` } },
      availabilityMode: 'Available',
    },
  });
}

/** The platform's own object, of which one field is set. */
const operatorHub = object({
  apiVersion: 'config.openshift.io/v1',
  kind: 'OperatorHub',
  metadata: { name: 'cluster' },
  spec: { disableAllDefaultSources: true },
});

function object(manifest: object): AnyObject {
  return manifest as unknown as AnyObject;
}

/** A name for each: the last part of its repository; where several catalogs share that, with digits that tell them apart. */
function nameCatalogs(catalogs: readonly BundleImage[]): Map<BundleImage, string> {
  const cut = (name: string, length: number) => name.slice(0, length).replace(/-+$/, '');
  const short = (catalog: BundleImage) => cut(`sluice-${slugOf(catalog.source)}`, nameLengthMax);
  return new Map(
    catalogs.map((catalog) => {
      const name = short(catalog);
      const others = catalogs.filter((each) => each !== catalog && short(each) === name);
      if (others.length === 0) return [catalog, name];
      // Of two images of one repository only the tag tells which is which.
      const own = others.some(({ source }) => source === catalog.source) ? catalog.name : catalog.source;
      const suffix = createHash('sha256').update(own).digest('hex').slice(0, suffixDigits);
      return [catalog, `${cut(name, nameLengthMax - suffixDigits - 1)}-${suffix}`];
    }),
  );
}

/** The last part of a repository, as a name of Kubernetes. */
function slugOf(repository: string): string {
  const last = repository.slice(repository.lastIndexOf('/') + 1);
  return last
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
}
