import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { faultPoint } from '../durable/fault.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { inTotoPayloadType, signEnvelope } from '../trust/dsse.ts';
import { generateSigningKey, publicKeyOf, type TrustedKey } from '../trust/keys.ts';
import { newestRecordFirst, openRecord, recordLabel, reportPatch } from './record.ts';
import { completionStatement } from './report.ts';

/**
 * The key of this cluster by which it signs its reports. The Secret holds both halves, and is for the controller alone;
 * the ConfigMap by the same name holds the public one, for everybody.
 */
export const reportKeyName = 'sluice-report-key';
export const reportKeyKeys = { privateKey: 'report.key', publicKey: 'report.pub' } as const;

/** Reports that are kept; older ones are removed, newest first. */
const reportsMax = 20;

/**
 * Sees to it that the cluster has a key before it has anything to sign, so that its public half can be carried out on
 * the first day. Whoever deletes the Secret gets a new key; reports that stand stay signed by the old one.
 */
export async function ensureReportKey(client: KubeClient): Promise<{ privatePem: string; key: TrustedKey }> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const privatePem = await privateKey(client, namespace);
  const key = publicKeyOf(privatePem, reportKeyName);
  const { kinds } = client;
  const data = { [reportKeyKeys.publicKey]: key.publicPem };
  const standing = await client.tryGet(kinds.ConfigMap, reportKeyName, namespace);
  if (standing === undefined) {
    await client.create(kinds.ConfigMap, { metadata: { name: reportKeyName, namespace }, data });
  } else if (standing.data?.[reportKeyKeys.publicKey] !== key.publicPem) {
    await client.patch(kinds.ConfigMap, reportKeyName, { data }, { namespace });
  }
  return { privatePem, key };
}

async function privateKey(client: KubeClient, namespace: string): Promise<string> {
  const kind = client.kinds.Secret;
  let standing = await client.tryGet(kind, reportKeyName, namespace);
  if (standing === undefined) {
    const { privatePem, publicPem } = generateSigningKey();
    try {
      standing = await client.create(kind, {
        metadata: { name: reportKeyName, namespace },
        type: 'Opaque',
        data: {
          [reportKeyKeys.privateKey]: Buffer.from(privatePem).toString('base64'),
          [reportKeyKeys.publicKey]: Buffer.from(publicPem).toString('base64'),
        },
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      standing = await client.get(kind, reportKeyName, namespace);
    }
  }
  return Buffer.from(standing.data?.[reportKeyKeys.privateKey] ?? '', 'base64').toString('utf8');
}

/**
 * Signs the report of an update that has been completed and has none yet. It goes by what stands in the API, so that a
 * controller that was killed between the end and the report writes it when it comes back.
 *
 * @returns the name of the ConfigMap that holds the report now; undefined where nothing was left to report.
 */
export async function reportCompleted(
  client: KubeClient,
  clusterVersion: ClusterVersion,
): Promise<string | undefined> {
  const [latest] = clusterVersion.status?.history ?? [];
  if (latest?.state !== 'Completed') return undefined;
  const { privatePem, key } = await ensureReportKey(client);
  const open = await openRecord(client, latest.image, key);
  if (open === undefined) return undefined;
  const { kinds, platform } = client;
  const { clusterVersionNamespace: namespace } = names(platform);
  const [nodes, updates] = await Promise.all([client.all(kinds.Node), client.all(kinds.NodeUpdate)]);
  const facts = { platform, nodes, updates };
  const body = completionStatement(clusterVersion, open.record, facts);
  const { name } = open.object.metadata;
  const patch = reportPatch(open.object, signEnvelope(inTotoPayloadType, body, privatePem), key.publicPem);
  await client.patch(kinds.ConfigMap, name, patch, { namespace });
  faultPoint('update-reported');
  await removeOld(client, namespace);
  return name;
}

/** Records of updates that were never completed go with the reports that are as old. */
async function removeOld(client: KubeClient, namespace: string): Promise<void> {
  const { items } = await client.list(client.kinds.ConfigMap, { namespace, labelSelector: recordLabel });
  for (const { metadata } of [...items].sort(newestRecordFirst).slice(reportsMax)) {
    await client.delete(client.kinds.ConfigMap, metadata.name, { namespace });
  }
}
