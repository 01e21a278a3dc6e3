import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { ClusterVersion, NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { digestPart } from '../gates/gather.ts';
import type { HistoryEntry } from './history.ts';
import { type AcceptedRecord, type RecordedNode, recordedNode, reportDigest } from './record.ts';

/** By which a statement is told to be a report of ours. */
export const reportPredicateType = 'https://sluice.dev/update-report/v1';
const statementType = 'https://in-toto.io/Statement/v1';

/**
 * The report of one completed update, as an in-toto statement about the payload that the cluster now runs: who let it
 * through and in spite of what, and what every node did.
 */
export interface UpdateReport {
  readonly formatVersion: 1;
  readonly cluster: { readonly id: string; readonly platform: string };
  /** RFC 3339, as everywhere here. */
  readonly startedAt: string;
  readonly completedAt: string;
  readonly accepted: AcceptedRecord;
  readonly nodes: readonly ReportedNode[];
  /** Newest first; what earlier updates were let through with is cut to its beginning. */
  readonly history: readonly HistoryEntry[];
}

export interface ReportedNode {
  readonly name: string;
  readonly role: 'control-plane' | 'worker';
  /** As it was when the update was let through; absent where nobody knew it then. */
  readonly before?: Omit<RecordedNode, 'name'>;
  readonly after: Omit<RecordedNode, 'name'>;
  /** Whether the boot ids prove that it has rebooted; absent where one of them is not known. */
  readonly rebooted?: boolean;
  /** When its agent first said that it runs what it should. */
  readonly updatedAt?: string;
  readonly readySince?: string;
}

interface Statement {
  readonly _type: typeof statementType;
  readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
  readonly predicateType: typeof reportPredicateType;
  readonly predicate: UpdateReport;
}

const earlierRisksCharsMax = 500;

/** Bytes of the statement about a completed update. Pure. */
export function completionStatement(
  clusterVersion: ClusterVersion,
  accepted: AcceptedRecord,
  facts: {
    readonly platform: string;
    readonly nodes: readonly Node[];
    readonly updates: readonly NodeUpdate[];
  },
): Buffer {
  const { spec, status } = clusterVersion;
  const history = status?.history ?? [];
  const [latest] = history;
  const updates = new Map(facts.updates.map((update) => [update.metadata.name, update]));
  const before = new Map(accepted.nodes.map((node) => [node.name, node]));
  const statement: Statement = {
    _type: statementType,
    subject: [
      {
        name: accepted.to.image.split('@', 1)[0] ?? '',
        digest: { sha256: digestPart(accepted.to.image).replace(/^sha256:/, '') },
      },
    ],
    predicateType: reportPredicateType,
    predicate: {
      formatVersion: 1,
      cluster: { id: spec.clusterID, platform: facts.platform },
      startedAt: latest?.startedTime ?? '',
      completedAt: latest?.completionTime ?? '',
      accepted,
      nodes: facts.nodes
        .map((node) => reportedNode(node, updates.get(node.metadata.name), before.get(node.metadata.name)))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      history: history.map((entry, index) =>
        index === 0 || entry.acceptedRisks === undefined
          ? entry
          : { ...entry, acceptedRisks: entry.acceptedRisks.slice(0, earlierRisksCharsMax) },
      ),
    },
  };
  return Buffer.from(JSON.stringify(statement));
}

function reportedNode(
  node: Node,
  update: NodeUpdate | undefined,
  before: RecordedNode | undefined,
): ReportedNode {
  const ready = node.status?.conditions?.find((each) => each.type === 'Ready' && each.status === 'True');
  const updated = update?.status?.conditions?.find(
    (each) => each.type === 'Updated' && each.status === 'True',
  );
  const after = update === undefined ? {} : withoutName(recordedNode(update));
  const isKnown = before?.bootID !== undefined && after.bootID !== undefined;
  return {
    name: node.metadata.name,
    role: node.metadata.labels?.[labels.controlPlane] === undefined ? 'worker' : 'control-plane',
    ...(before === undefined ? {} : { before: withoutName(before) }),
    after,
    ...(isKnown ? { rebooted: before.bootID !== after.bootID } : {}),
    ...(updated === undefined ? {} : { updatedAt: updated.lastTransitionTime }),
    ...(ready?.lastTransitionTime === undefined ? {} : { readySince: ready.lastTransitionTime }),
  };
}

function withoutName({ name: _, ...rest }: RecordedNode): Omit<RecordedNode, 'name'> {
  return rest;
}

/**
 * The report that a signed statement holds. Whoever calls it has found the signature to be a trusted one. Errors:
 * InputInvalid where it is a statement about something else, DigestMismatch where its parts do not belong together.
 */
export function readStatement(body: Uint8Array): UpdateReport {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    throw new SluiceError('InputInvalid', 'the signed statement is not JSON', { cause: error });
  }
  const { _type, predicateType, subject, predicate } = (value ?? {}) as Partial<Statement>;
  if (_type !== statementType || predicateType !== reportPredicateType) {
    throw new SluiceError('InputInvalid', `it is signed, and no report of an update (${predicateType})`);
  }
  const isWhole =
    predicate?.formatVersion === 1 &&
    Array.isArray(predicate.nodes) &&
    Array.isArray(predicate.history) &&
    Array.isArray(predicate.accepted?.findings) &&
    Array.isArray(predicate.accepted.acceptedRisks) &&
    typeof predicate.accepted.to?.image === 'string';
  if (!isWhole) {
    throw new SluiceError('InputInvalid', 'its report is of a format that this program does not know', {
      next: 'Use the version of sluice that wrote it, or a newer one.',
    });
  }
  const digest = digestPart(predicate.accepted.to.image);
  const { preflight } = predicate.accepted;
  if (!subject?.some((each) => `sha256:${each.digest?.sha256}` === digest)) {
    throw new SluiceError('DigestMismatch', 'the report is not about the payload that its statement names');
  }
  if (preflight !== undefined && reportDigest(preflight.report) !== preflight.digest) {
    throw new SluiceError('DigestMismatch', 'the report of its preflight is not the one that it names');
  }
  return predicate;
}
