import { stringify } from 'yaml';
import type { KubeObject, Pod, Secret } from '../api/core.ts';
import { type KindName, type KindRef, ownKinds } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isNotFound } from '../kube/error.ts';
import { type GatherEntry, lastOf, type Miss, textBytesMax } from './entry.ts';
import { type Redactor, secretFacts, withoutSecrets } from './redact.ts';

/** Of the whole cluster. */
const clusterKinds: readonly KindName[] = [
  ...ownKinds,
  'Namespace',
  'Node',
  'PodDisruptionBudget',
  'Lease',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];
/** Of the namespaces of Sluice and its preflights, and of those that a release's own operators say they are in. */
const namespacedKinds: readonly KindName[] = [
  'Pod',
  'Job',
  'Deployment',
  'ConfigMap',
  'ServiceAccount',
  'Role',
  'RoleBinding',
];
const callMs = 15_000;

/**
 * What the cluster's API tells: objects, events and the logs of Pods. Secrets are read so that their values can be
 * taken out of everything else; of them only names and sizes are kept.
 */
export async function* gatherCluster(
  client: KubeClient,
  redactor: Redactor,
  miss: Miss,
): AsyncGenerator<GatherEntry> {
  const { kinds } = client;
  const list = async <T extends KubeObject>(kind: KindRef<T>, namespace?: string): Promise<T[]> => {
    try {
      const scope = namespace === undefined ? {} : { namespace };
      return (await client.list<T>(kind, { ...scope, timeoutMs: callMs })).items;
    } catch (error) {
      // A kind that this platform does not have is no loss.
      if (!isNotFound(error)) miss(`cluster/${kind.plural}`, messageOf(error));
      return [];
    }
  };
  const file = (path: string, objects: readonly unknown[]): GatherEntry => ({
    path: `cluster/${path}.yaml`,
    text: lastOf(objects.map((object) => stringify(withoutSecrets(object))).join('---\n')),
  });

  const secrets = await list<Secret>(kinds.Secret);
  for (const secret of secrets) {
    for (const value of Object.values(secret.data ?? {})) {
      redactor.learn(Buffer.from(value, 'base64').toString('utf8'));
    }
  }
  if (secrets.length > 0) yield file('secrets-without-their-content', secrets.map(secretFacts));
  yield* gatherVersion(client, miss);
  for (const name of clusterKinds) {
    const objects = await list<KubeObject>(kinds[name] as KindRef<KubeObject>);
    if (objects.length > 0) yield file((kinds[name] as KindRef).plural, objects);
  }
  const events = await list(kinds.Event);
  const times = events.map((event) => ({ event, at: event.lastTimestamp ?? '' }));
  if (events.length > 0) {
    yield file(
      'events',
      times.sort((a, b) => (a.at < b.at ? -1 : 1)).map(({ event }) => event),
    );
  }
  const places = names(client.platform);
  const namespaces = new Set([
    places.clusterVersionNamespace,
    places.preflightNamespace,
    places.configNamespace,
    places.configManagedNamespace,
    places.machineConfigNamespace,
    ...(await operatorNamespaces(client)),
  ]);
  for (const namespace of [...namespaces].sort()) {
    for (const name of namespacedKinds) {
      const objects = await list<KubeObject>(kinds[name] as KindRef<KubeObject>, namespace);
      if (objects.length > 0)
        yield file(`namespaces/${namespace}/${(kinds[name] as KindRef).plural}`, objects);
      if (name === 'Pod') yield* gatherLogs(client, objects as unknown as readonly Pod[], miss);
    }
  }
}

async function* gatherVersion(client: KubeClient, miss: Miss): AsyncGenerator<GatherEntry> {
  for (const [path, name] of [
    ['/version', 'version'],
    ['/readyz', 'readyz'],
    ['/apis', 'groups'],
  ] as const) {
    try {
      const answer = await client.raw({ path, timeoutMs: callMs });
      yield {
        path: `cluster/${name}.txt`,
        text: typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2),
      };
    } catch (error) {
      miss(`cluster${path}`, messageOf(error));
    }
  }
}

/** Where a release's operators are: what their ClusterOperator names as related. */
async function operatorNamespaces(client: KubeClient): Promise<string[]> {
  try {
    const { items } = await client.list(client.kinds.ClusterOperator, { timeoutMs: callMs });
    return items
      .flatMap(
        (operator) =>
          operator.status?.relatedObjects?.flatMap(({ resource, name, namespace }) =>
            resource === 'namespaces' ? [name ?? ''] : [namespace ?? ''],
          ) ?? [],
      )
      .filter((name) => name !== '');
  } catch {
    return [];
  }
}

async function* gatherLogs(
  client: KubeClient,
  pods: readonly Pod[],
  miss: Miss,
): AsyncGenerator<GatherEntry> {
  for (const pod of pods) {
    const { name, namespace = '' } = pod.metadata;
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    for (const container of containers) {
      try {
        const log = await client.podLog(namespace, name, {
          container: container.name,
          bytesMax: textBytesMax,
          timeoutMs: callMs,
        });
        if (log.length > 0) {
          yield {
            path: `cluster/namespaces/${namespace}/logs/${name}/${container.name}.log`,
            text: log.toString('utf8'),
          };
        }
      } catch (error) {
        miss(`the log of ${namespace}/${name}, ${container.name}`, messageOf(error));
      }
    }
  }
}
