import { names } from '../api/names.ts';
import { isFindingName } from '../gates/finding.ts';
import type { KubeClient } from '../kube/client.ts';
import { knownBundles } from '../release/content.ts';
import { isReported, recordLabel } from '../update/record.ts';
import type { NameKind } from './completion-scripts.ts';

/** What a person could mean by a word of this kind. */
export async function clusterNames(client: KubeClient, kind: NameKind): Promise<string[]> {
  const { kinds, platform } = client;
  const { clusterVersionNamespace: namespace } = names(platform);
  switch (kind) {
    case 'release':
      return (await knownBundles(client)).flatMap(({ name, version }) => [name, version]);
    case 'version':
      return (await knownBundles(client)).map(({ version }) => version);
    case 'node':
      return (await client.list(kinds.Node)).items.map(({ metadata }) => metadata.name);
    case 'preflight':
      return (await client.list(kinds.UpdatePreflight, { namespace })).items.flatMap(
        ({ metadata, status }) => [
          metadata.name,
          ...(status?.target?.version === undefined ? [] : [status.target.version]),
        ],
      );
    case 'report': {
      const { items } = await client.list(kinds.ConfigMap, { namespace, labelSelector: recordLabel });
      const signed = items.filter(isReported);
      return signed.map(({ metadata }) => metadata.name);
    }
    case 'risk': {
      const { items } = await client.list(kinds.UpdatePreflight, { namespace });
      const rows = items.flatMap(({ status }) => status?.checks ?? []);
      // Only what may stand on a command line as it is: the text comes from checks.
      return rows.filter((row) => row.result === 'Risk' && isFindingName(row.name)).map((row) => row.name);
    }
  }
}
