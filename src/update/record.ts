import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ConfigMap } from '../api/core.ts';
import { names } from '../api/names.ts';
import type { ClusterVersion, NodeUpdate, UpdatePreflight, UpdatePreflightStatus } from '../api/resources.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { type Finding, isAccepted, type Judgement } from '../gates/finding.ts';
import { digestPart } from '../gates/gather.ts';
import type { Release } from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { envelopeBytesMax, openEnvelope, signEnvelope } from '../trust/dsse.ts';
import type { TrustedKey } from '../trust/keys.ts';

/**
 * What is written down of an update at the moment in which it is let through: later nobody can tell any more what the
 * gates saw, or which boot a node came from. It is a ConfigMap beside the ClusterVersion, and holds the signed report
 * too once the update is completed.
 */
export interface AcceptedRecord {
  readonly formatVersion: 1;
  /** RFC 3339. */
  readonly acceptedAt: string;
  readonly from: RecordedRelease;
  readonly to: RecordedRelease;
  readonly bundle: { readonly name: string; readonly digest: string; readonly signedBy: string };
  /** Whether the request asked to go through findings. */
  readonly force: boolean;
  /** Every finding of every gate, with by whose word it was passed where it stood against the update. */
  readonly findings: readonly RecordedFinding[];
  readonly acceptedRisks: readonly { readonly name: string; readonly reason?: string }[];
  readonly preflight?: RecordedPreflight;
  /** The nodes as they were before. */
  readonly nodes: readonly RecordedNode[];
}

export interface RecordedRelease {
  readonly version: string;
  /** By digest. */
  readonly image: string;
}

export interface RecordedFinding {
  readonly name: string;
  readonly gate: string;
  readonly result: Finding['result'];
  readonly severity: Finding['severity'];
  readonly component?: string;
  readonly message: string;
  readonly passedBy?: 'acceptance' | 'force';
}

export interface RecordedPreflight {
  readonly name: string;
  readonly runID: string;
  readonly verdict: string;
  /** SHA-256 of `report` as JSON text, its fields in their order here. */
  readonly digest: string;
  readonly report: UpdatePreflightStatus;
}

export interface RecordedNode {
  readonly name: string;
  readonly bootID?: string;
  readonly osImage?: string;
  readonly osVersion?: string;
}

/** On the ConfigMap of an update: the first 12 digits of the payload's digest. */
export const recordLabel = 'sluice.dev/update-record';
/** Keys of the ConfigMap. */
export const recordKeys = {
  /** Signed when it is written, so that nobody can mend it until it is reported. Gone when the report is there. */
  accepted: 'accepted.dsse.json',
  report: 'report.dsse.json',
  publicKey: 'report.pub',
} as const;

/** Characters of an envelope that are kept as they are. A ConfigMap holds a MiB; what a fleet of 2,000 did is twice that. */
const plainMax = 512 * 1024;
const zipped = (key: string) => `${key}.gz`;

/** An envelope as the ConfigMap of an update holds it under one of `recordKeys`: readable, or compressed where it is large. */
export function packed(key: string, text: string): Pick<ConfigMap, 'data' | 'binaryData'> {
  if (text.length <= plainMax) return { data: { [key]: text } };
  return { binaryData: { [zipped(key)]: gzipSync(text).toString('base64') } };
}

/** What `packed` put there; undefined where nothing is. Errors: InputInvalid. */
export function unpacked({ metadata, data, binaryData }: ConfigMap, key: string): string | undefined {
  const bytes = binaryData?.[zipped(key)];
  if (data?.[key] !== undefined || bytes === undefined) return data?.[key];
  try {
    return gunzipSync(Buffer.from(bytes, 'base64'), { maxOutputLength: envelopeBytesMax }).toString('utf8');
  } catch (error) {
    throw new SluiceError(
      'InputInvalid',
      `${zipped(key)} of the ConfigMap ${metadata.name} cannot be read: ${messageOf(error)}`,
    );
  }
}

/** Whether the report of the update is there. */
export function isReported({ data, binaryData }: ConfigMap): boolean {
  return (data?.[recordKeys.report] ?? binaryData?.[zipped(recordKeys.report)]) !== undefined;
}

/** The patch by which the signed report takes the place of what was accepted. */
export function reportPatch(object: ConfigMap, report: string, publicPem: string): object {
  const kept = packed(recordKeys.report, report);
  const { resourceVersion } = object.metadata;
  const hasBytes = object.binaryData !== undefined || kept.binaryData !== undefined;
  return {
    metadata: { resourceVersion },
    data: { [recordKeys.accepted]: null, [recordKeys.publicKey]: publicPem, ...kept.data },
    ...(hasBytes ? { binaryData: { [zipped(recordKeys.accepted)]: null, ...kept.binaryData } } : {}),
  };
}

export interface AcceptedFacts {
  readonly now: number;
  readonly release: Release;
  readonly findings: readonly Finding[];
  readonly judged: Judgement;
  readonly accepted: ReadonlySet<string>;
  readonly force: boolean;
  readonly preflight: UpdatePreflight | undefined;
  readonly nodes: readonly NodeUpdate[];
}

/** The record of an update that is let through. Pure. */
export function acceptedRecord(clusterVersion: ClusterVersion, facts: AcceptedFacts): AcceptedRecord {
  const { release, judged, preflight } = facts;
  const { document, digest, signedBy } = release.bundle;
  const { desired } = clusterVersion.status ?? {};
  const reasons = new Map(
    (preflight?.spec.acceptedRisks ?? []).flatMap(({ name, reason }) => (reason ? [[name, reason]] : [])),
  );
  const passed = preflight?.status === undefined ? undefined : recordedPreflight(preflight, preflight.status);
  return {
    formatVersion: 1,
    acceptedAt: new Date(facts.now).toISOString(),
    from: { version: desired?.version ?? '', image: desired?.image ?? '' },
    to: { version: release.version, image: release.image },
    bundle: { name: document.name, digest, signedBy: signedBy.name },
    force: facts.force,
    findings: facts.findings.map((finding) => recordedFinding(finding, judged, facts.accepted)),
    acceptedRisks: [...facts.accepted].sort().map((name) => {
      const reason = reasons.get(name);
      return { name, ...(reason === undefined ? {} : { reason }) };
    }),
    ...(passed === undefined ? {} : { preflight: passed }),
    nodes: facts.nodes.map(recordedNode).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function recordedFinding(
  finding: Finding,
  { accepted, forced }: Judgement,
  names: ReadonlySet<string>,
): RecordedFinding {
  const { name, gate, result, severity, component, message } = finding;
  const passedBy =
    accepted.includes(finding) && isAccepted(finding, names)
      ? ('acceptance' as const)
      : forced.includes(finding)
        ? ('force' as const)
        : undefined;
  return {
    name,
    gate,
    result,
    severity,
    ...(component === undefined ? {} : { component }),
    message,
    ...(passedBy === undefined ? {} : { passedBy }),
  };
}

function recordedPreflight({ metadata }: UpdatePreflight, report: UpdatePreflightStatus): RecordedPreflight {
  const { runID = '', verdict = '' } = report;
  return { name: metadata.name, runID, verdict, digest: reportDigest(report), report };
}

/** The digest by which a preflight's report is told from every other. */
export function reportDigest(report: UpdatePreflightStatus): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(report)).digest('hex')}`;
}

export function recordedNode({ metadata, status }: NodeUpdate): RecordedNode {
  const { bootID, booted } = status ?? {};
  return {
    name: metadata.name,
    ...(bootID === undefined ? {} : { bootID }),
    ...(booted?.image === undefined ? {} : { osImage: booted.image }),
    ...(booted?.version === undefined ? {} : { osVersion: booted.version }),
  };
}

/** What the label of a payload's records says. */
export function recordLabelOf(image: string): string {
  return digestPart(image)
    .replace(/^sha256:/, '')
    .slice(0, 12);
}

const acceptedPayloadType = 'application/vnd.sluice.accepted-update+json';

/** Records under one name, where a ClusterVersion was lost and has begun to count anew. */
const samesMax = 20;

/**
 * Writes the record, before the update is let through. The same request is one record, however often its acceptance
 * is tried; a record that holds a report is never written over.
 */
export async function writeRecord(
  client: KubeClient,
  clusterVersion: ClusterVersion,
  record: AcceptedRecord,
  privatePem: string,
): Promise<void> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.ConfigMap;
  const label = recordLabelOf(record.to.image);
  const first = `sluice-update-${label}-${clusterVersion.metadata.generation ?? 0}`;
  const body = Buffer.from(JSON.stringify(record));
  const kept = packed(recordKeys.accepted, signEnvelope(acceptedPayloadType, body, privatePem));
  for (let same = 1; same <= samesMax; same += 1) {
    const name = same === 1 ? first : `${first}-${same}`;
    try {
      await client.create(kind, { metadata: { name, namespace, labels: { [recordLabel]: label } }, ...kept });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const standing = await client.get(kind, name, namespace);
    if (isReported(standing)) continue;
    // A try before this one was cut short.
    await client.patch(
      kind,
      name,
      { ...kept, data: { [recordKeys.accepted]: null, ...kept.data } },
      { namespace },
    );
    return;
  }
  throw new SluiceError('Conflict', `there are ${samesMax} records by the name ${first} already`, {
    next: `Carry their reports out (sluice upgrade report --out DIR), then delete the ConfigMaps in ${namespace}.`,
  });
}

/**
 * The newest record of a payload, where no report was made of it yet. Errors: those of `openEnvelope` where it is not
 * as it was written.
 */
export async function openRecord(
  client: KubeClient,
  image: string,
  key: TrustedKey,
): Promise<{ object: ConfigMap; record: AcceptedRecord } | undefined> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const labelSelector = `${recordLabel}=${recordLabelOf(image)}`;
  const { items } = await client.list(client.kinds.ConfigMap, { namespace, labelSelector });
  const [object] = items.sort(newestRecordFirst);
  if (object === undefined || isReported(object)) return undefined;
  const text = unpacked(object, recordKeys.accepted);
  if (text === undefined) return undefined;
  const { body, payloadType } = openEnvelope(text, [key]);
  if (payloadType !== acceptedPayloadType) {
    throw new SluiceError('InputInvalid', `the ConfigMap ${object.metadata.name} holds ${payloadType}`);
  }
  return { object, record: JSON.parse(body.toString('utf8')) as AcceptedRecord };
}

/** By the generation in its name where two were made in the same second. */
export function newestRecordFirst(a: ConfigMap, b: ConfigMap): number {
  const created = ({ metadata }: ConfigMap) => metadata.creationTimestamp ?? '';
  if (created(a) !== created(b)) return created(a) < created(b) ? 1 : -1;
  return b.metadata.name.localeCompare(a.metadata.name, 'en', { numeric: true });
}
