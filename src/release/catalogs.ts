import type { BundleDocument } from '../bundle/document.ts';

/** An object as `kubectl apply` takes it. */
interface CatalogObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: object;
}

const nameLengthMax = 63;

/**
 * The objects by which a cluster finds the catalogs of a release: for OLM as it was (CatalogSource) and as it becomes
 * (ClusterCatalog). Names follow from the catalog's repository, so that the next release replaces the image and adds no
 * second catalog. Images are named by digest as their makers do; the mirror set leads to the nodes.
 *
 * @param of.defaultSourcesOff also turns off the catalogs of the internet, which a disconnected cluster asks in vain.
 */
export function catalogObjects(
  document: Pick<BundleDocument, 'images' | 'version'>,
  of: { readonly versions: readonly ('v0' | 'v1')[]; readonly defaultSourcesOff: boolean },
): CatalogObject[] {
  const catalogs = document.images.filter((image) => image.role === 'catalog');
  const objects = catalogs.flatMap(({ source, digest }): CatalogObject[] => {
    const name = `sluice-${slugOf(source)}`.slice(0, nameLengthMax).replace(/-+$/, '');
    const image = `${source}@${digest}`;
    const source0: CatalogObject = {
      apiVersion: 'operators.coreos.com/v1alpha1',
      kind: 'CatalogSource',
      metadata: { name, namespace: 'openshift-marketplace' },
      spec: {
        sourceType: 'grpc',
        image,
        displayName: `${slugOf(source)} of release ${document.version}`,
        publisher: 'Sluice',
        grpcPodConfig: { securityContextConfig: 'restricted' },
      },
    };
    const source1: CatalogObject = {
      apiVersion: 'olm.operatorframework.io/v1',
      kind: 'ClusterCatalog',
      metadata: { name },
      spec: { source: { type: 'Image', image: { ref: image } }, availabilityMode: 'Available' },
    };
    return of.versions.map((version) => (version === 'v0' ? source0 : source1));
  });
  if (objects.length === 0 || !of.defaultSourcesOff) return objects;
  const hub: CatalogObject = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'OperatorHub',
    metadata: { name: 'cluster' },
    spec: { disableAllDefaultSources: true },
  };
  return [hub, ...objects];
}

/** The last part of a repository, as a name of Kubernetes. */
function slugOf(repository: string): string {
  const last = repository.slice(repository.lastIndexOf('/') + 1);
  return last
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
}
