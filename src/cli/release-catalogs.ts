import { openBundle } from '../bundle/bundle.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { findKubeconfig } from '../kube/kubeconfig.ts';
import { catalogObjects } from '../release/catalogs.ts';
import { clusterContent } from '../release/content.ts';
import { readerIdentity } from '../release/reader.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import { note, parseFormat, printObject } from './output.ts';
import { gather, type Options, resolveName } from './release-actions.ts';

/** `sluice release catalogs`: what to apply so that the cluster finds the operators of a release. */
export async function catalogs(client: KubeClient, text = '', options: Options): Promise<void> {
  const format = options.output === undefined ? 'yaml' : parseFormat(options.output);
  if (format !== 'json' && format !== 'yaml')
    throw new SluiceError('Usage', `-o ${format}: objects are shown as yaml or json`);
  const facts = await gather(client);
  const name = resolveName(text, facts);
  const bundle = facts.bundles.find((each) => each.name === name);
  if (bundle === undefined) throw new SluiceError('NotFound', `${name} is neither held nor mounted`);
  const { tls } = findKubeconfig({
    ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
  });
  const content = clusterContent(
    client,
    await readerIdentity(client, { caPem: tls.ca ?? '', certPem: tls.cert, keyPem: tls.key }),
  );
  try {
    const reference = { digest: bundle.bundleDigest };
    const { document } = await openBundle(content, reference, await trustedKeys(client));
    const versions = options.olm === undefined ? (['v0', 'v1'] as const) : [versionOf(options.olm)];
    const items = catalogObjects(document, {
      versions,
      defaultSourcesOff: options.defaultSourcesOff === true,
    });
    if (items.length === 0) note(`${name} carries no catalog`);
    await printObject({ apiVersion: 'v1', kind: 'List', items }, format);
  } finally {
    await content.close();
  }
}

function versionOf(text: string): 'v0' | 'v1' {
  if (text === 'v0' || text === 'v1') return text;
  throw new SluiceError('Usage', `--olm ${text}: it is v0 (CatalogSource) or v1 (ClusterCatalog)`);
}

/** `sluice release mirrors`: the mirror sets of the cluster as a file of podman, skopeo and CRI-O. */
export async function mirrors(client: KubeClient): Promise<void> {
  const { registriesConf } = await import('../release/registries-conf.ts');
  const { items } = await client.list(client.kinds.ImageDigestMirrorSet);
  if (items.length === 0) note('the cluster has no mirror set yet: the controller makes it');
  process.stdout.write(registriesConf(items));
}
