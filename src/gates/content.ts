import { counted } from '../observe/count.ts';
import type { ContentFact, GateFacts, NodeFact } from './facts.ts';
import type { Finding } from './finding.ts';

/**
 * Whether every control-plane node holds the release whole, and answers. A preflight may look at a release that is
 * still on a disk: then what is missing is told, not held against it.
 */
export function contentGate(facts: GateFacts): Finding[] {
  const { target, content, nodes } = facts;
  if (!target.verified) return [];
  if (!content.known) return [error('ReleaseContent', content.why)];
  if (!nodes.known) return [error('ReleaseContent', nodes.why)];
  const controlPlane = nodes.value.filter((node) => node.controlPlane);
  if (controlPlane.length === 0) return [error('ReleaseContent', 'no control-plane node is known')];
  return [...whole(facts, target.bundle, controlPlane), ...reachable(controlPlane)];
}

function whole(
  { purpose, content, target }: GateFacts,
  bundle: { name: string; digest: string },
  controlPlane: readonly NodeFact[],
): Finding[] {
  if (!content.known || !target.verified) return [];
  const { asked, available, mountedOn } = content.value;
  const lacking = controlPlane.filter((node) => node.bundles?.includes(bundle.digest) !== true);
  const holds = controlPlane.length - lacking.length;
  const names = lacking.map((node) => node.name).sort();
  const all = controlPlane.length;
  if (lacking.length === 0 && available?.status === 'True') {
    return [
      {
        ...base('ReleaseContent'),
        result: 'Passed',
        message: `${bundle.name} is whole on ${all === 1 ? 'the only control-plane node' : `all ${all} control-plane nodes`}`,
      },
    ];
  }
  const message =
    lacking.length > 0
      ? `${bundle.name} is whole on ${holds} of ${counted(all, 'control-plane node')}; lacking: ${names.join(', ')}`
      : `${bundle.name} is not reported available: ${available === undefined ? 'nothing tells of it' : available.message}`;
  const failed = (content.value.failed ?? []).filter(({ node }) => names.includes(node));
  if (failed.length > 0) {
    return [
      {
        ...base('ReleaseContent'),
        result: 'Risk',
        message: `${message}; ${failed.map((each) => failureOf(each, mountedOn)).join('; ')}`,
        next: nextAfter(failed, target.version),
        objects: lacking.map((node) => `node/${node.name}`),
      },
    ];
  }
  const next = asked
    ? `Wait for the copies: sluice release status ${target.version}.`
    : `Copy it to every control-plane node: sluice release add ${target.version}.`;
  const ahead = purpose === 'preflight' && (mountedOn.length > 0 || holds > 0);
  return [
    {
      ...base('ReleaseContent'),
      severity: ahead ? 'info' : 'blocking',
      result: 'Risk',
      message: mountedOn.length > 0 ? `${message}; mounted on ${mountedOn.join(', ')}` : message,
      next,
      objects: lacking.map((node) => `node/${node.name}`),
    },
  ];
}

type Failed = NonNullable<ContentFact['failed']>[number];

/** What the bytes themselves have ended; only another copy of the medium brings others. */
const ofTheMedium: Readonly<Record<string, string>> = {
  DigestMismatch: 'is damaged',
  ContentMissing: 'does not hold all of it',
};
/** Characters of a cause: a medium may have a hundred damaged blobs. */
const causeMax = 160;

function failureOf({ node, reason, message }: Failed, mountedOn: readonly string[]): string {
  const fault = mountedOn.includes(node) ? ofTheMedium[reason] : undefined;
  const what = fault === undefined ? `the copy failed on ${node}` : `the medium at ${node} ${fault}`;
  const cause = [reason, message].filter((each) => each !== '').join(': ');
  return `${what} (${cause.length > causeMax ? `${cause.slice(0, causeMax)}…` : cause})`;
}

function nextAfter(failed: readonly Failed[], version: string): string {
  return failed.some(({ reason }) => reason in ofTheMedium)
    ? `Waiting does not help: detach the medium and attach another copy of it (sluice media ls, media detach, media attach); all that is wrong: sluice release status ${version}.`
    : `Waiting does not help: see what is wrong, and mend it: sluice release status ${version}.`;
}

/** Content that nobody can be asked about may be whole: so this one may be forced. */
function reachable(controlPlane: readonly NodeFact[]): Finding[] {
  const silent = controlPlane.filter((node) => !node.ready);
  if (silent.length === 0) return [];
  return [
    {
      ...base('ReleaseContentReachable'),
      result: 'Risk',
      message: `control-plane nodes that do not answer: ${silent.map((node) => node.name).join(', ')}`,
      next: 'Bring the nodes back, or remove them from the cluster.',
      objects: silent.map((node) => `node/${node.name}`),
    },
  ];
}

function error(name: string, message: string): Finding {
  return { ...base(name), result: 'Error', message };
}

function base(name: string) {
  return { name, gate: 'content', severity: 'blocking' } as const;
}
