import type { Node } from '../api/core.ts';
import { labels, names } from '../api/names.ts';
import type { ClusterVersion, InternalReleaseImage, NodeUpdate, UpdatePreflight } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { conditionIs, findCondition } from '../kube/conditions.ts';
import { parseDuration } from './duration.ts';
import type { ContentFact, GateFacts, NodeFact, OperatorFact, PreflightFact } from './facts.ts';
import { gatherCluster } from './gather-cluster.ts';
import { bothKnown, mapKnown, readFact } from './known.ts';
import { readReleaseKeys, type SignatureWord, signatureWord } from './release-keys.ts';

/** What the caller knows already, and this file does not read. */
export type GivenFacts = Pick<GateFacts, 'purpose' | 'now' | 'target' | 'preflight'>;

/**
 * Reads what the gates look at. Each fact stands alone: what cannot be read is unknown, with the words of the API,
 * and the rest is read all the same.
 */
export async function gatherFacts(
  client: KubeClient,
  clusterVersion: ClusterVersion,
  given: GivenFacts,
): Promise<GateFacts> {
  const { kinds } = client;
  const { adminGates, adminAcks, configNamespace, configManagedNamespace, internalReleaseImage } = names(
    client.platform,
  );
  const configMap = async (name: string, namespace: string) =>
    (await client.tryGet(kinds.ConfigMap, name, namespace))?.data ?? {};
  const [cluster, openpgp, operators, nodes, updates, image, gates, acks] = await Promise.all([
    gatherCluster(client, given.now),
    readFact('the release keys of the cluster', () => wordOnSignature(client, given)),
    readFact('ClusterOperators', async () => (await client.list(kinds.ClusterOperator)).items),
    readFact('Nodes', () => client.all(kinds.Node)),
    readFact('NodeUpdates', () => client.all(kinds.NodeUpdate)),
    readFact('InternalReleaseImage', () => client.tryGet(kinds.InternalReleaseImage, internalReleaseImage)),
    readFact('the admin gates', () => configMap(adminGates, configManagedNamespace)),
    readFact('the admin acks', () => configMap(adminAcks, configNamespace)),
  ]);
  return {
    ...given,
    cluster,
    openpgp,
    source: sourceOf(clusterVersion),
    history: (clusterVersion.status?.history ?? []).map(({ state, version, image: payload }) => ({
      state,
      version: version ?? '',
      image: payload,
    })),
    overrides: (clusterVersion.spec.overrides ?? [])
      .filter((override) => override.unmanaged)
      .map(({ kind, namespace, name }) => [kind, namespace, name].filter((part) => part !== '').join('/')),
    operators: mapKnown(operators, (items) =>
      items.map(
        (each): OperatorFact => ({ name: each.metadata.name, conditions: each.status?.conditions ?? [] }),
      ),
    ),
    nodes: bothKnown(nodes, updates, nodeFacts),
    content: bothKnown(image, updates, (object, all) => contentFact(object, all, given)),
    adminGates: gates,
    adminAcks: acks,
  };
}

async function wordOnSignature(
  client: KubeClient,
  { target, now }: GivenFacts,
): Promise<SignatureWord | undefined> {
  if (!target.verified) return undefined; // The bundle's own signature comes first.
  const keys = await readReleaseKeys(client);
  return await signatureWord(keys, { payload: target.digest, carried: target.signatures, now });
}

/**
 * The release that the cluster runs or is brought to, by version and payload digest. Where the version is not known,
 * since only an image was asked for, the newest one that was completed counts, never the one on its way.
 */
export function sourceOf(clusterVersion: ClusterVersion): { version: string; digest: string } {
  const { desired, history = [] } = clusterVersion.status ?? {};
  const completed = history.find((entry) => entry.state === 'Completed') ?? history.at(-1);
  const version = desired?.version || completed?.version || '';
  return { version, digest: digestPart(desired?.image ?? '') };
}

/** The digest of a reference by digest; '' where it has none. */
export function digestPart(image: string): string {
  const at = image.lastIndexOf('@');
  return at === -1 ? '' : image.slice(at + 1);
}

const maxAgeMsDefault = 24 * 3_600_000;

/** The report of a preflight as the gates look at it; undefined where it has none yet. Errors: InputInvalid. */
export function preflightFact(object: UpdatePreflight): PreflightFact | undefined {
  const { status } = object;
  if (status?.runID === undefined || status.verdict === undefined) return undefined;
  return {
    object: object.metadata.name,
    verdict: status.verdict,
    reason: status.reason ?? '',
    message: status.message ?? '',
    targetDigest: status.target?.digest ?? '',
    sourceDigest: status.source?.digest ?? '',
    checkSet: status.checkSet,
    ...(status.finishedAt === undefined ? {} : { finishedAt: Date.parse(status.finishedAt) }),
    maxAgeMs: object.spec.maxAge === undefined ? maxAgeMsDefault : parseDuration(object.spec.maxAge),
    checks: (status.checks ?? []).flatMap(({ name, component, result, severity, message, next }) =>
      component === undefined
        ? []
        : [
            {
              name,
              component,
              result,
              severity: severity ?? 'blocking',
              message: message ?? '',
              ...(next === undefined ? {} : { next }),
            },
          ],
    ),
  };
}

function nodeFacts(nodes: readonly Node[], updates: readonly NodeUpdate[]): NodeFact[] {
  const byName = new Map(updates.map((update) => [update.metadata.name, update]));
  return nodes.map((node) => {
    const store = byName.get(node.metadata.name)?.status?.store;
    return {
      name: node.metadata.name,
      controlPlane: node.metadata.labels?.[labels.controlPlane] !== undefined,
      ready: conditionIs(node.status?.conditions, 'Ready', 'True'),
      kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
      ...(store === undefined ? {} : { bundles: store.map((each) => each.bundleDigest) }),
    };
  });
}

function contentFact(
  image: InternalReleaseImage | undefined,
  updates: readonly NodeUpdate[],
  { target }: GivenFacts,
): ContentFact {
  if (!target.verified) return { asked: false, mountedOn: [] };
  const { name, digest } = target.bundle;
  const release = image?.status?.releases.find((each) => each.name === name);
  const available = findCondition(release?.conditions, 'Available');
  const failed = updates.flatMap(({ metadata, status }) =>
    (status?.copies ?? [])
      .filter((copy) => copy.release === name && copy.state === 'Failed')
      .map(({ reason = '', message = '' }) => ({ node: metadata.name, reason, message })),
  );
  return {
    ...(failed.length === 0 ? {} : { failed }),
    asked: image?.spec.releases.some((each) => each.name === name) === true,
    ...(available === undefined
      ? {}
      : { available: { status: available.status, reason: available.reason, message: available.message } }),
    mountedOn: updates
      .filter((update) =>
        update.status?.media?.some((each) => each.verified === true && each.bundleDigest === digest),
      )
      .map((update) => update.metadata.name)
      .sort(),
  };
}
