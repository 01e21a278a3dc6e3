import type { GateFacts, VerifiedTarget } from './facts.ts';
import type { Finding } from './finding.ts';
import { compareVersions, sameMinor, tryVersion, type Version } from './version.ts';

/**
 * Whether the release may be reached from the one that the cluster runs: the release's own signed `previous` says
 * so, or it is the way back that the history allows.
 */
export function edgeGate(facts: GateFacts): Finding[] {
  const { target } = facts;
  if (!target.verified) return [];
  const from = tryVersion(facts.source.version);
  const to = tryVersion(target.version);
  if (from === undefined || to === undefined) {
    const text = from === undefined ? facts.source.version : target.version;
    return [finding('UpdatePath', 'Error', `"${text}" is not a semantic version, so no path can be judged`)];
  }
  if (compareVersions(to, from) < 0) return [rollback(facts, target, from, to)];
  return [...path(facts, target), ...secondHop(facts, from, to)];
}

function path({ source }: GateFacts, target: VerifiedTarget): Finding[] {
  if (target.version === source.version || target.previous.includes(source.version)) {
    return [finding('UpdatePath', 'Passed', `${target.version} may be reached from ${source.version}`)];
  }
  const from = target.previous.length === 0 ? 'from no version' : `only from ${target.previous.join(', ')}`;
  return [
    finding(
      'UpdatePath',
      'Risk',
      `${target.version} may be reached ${from}; this cluster runs ${source.version}`,
      'Update to one of those versions first.',
    ),
  ];
}

/** Back only to the entry before, inside the minor, whatever state it was left in. */
function rollback(
  { source, history }: GateFacts,
  target: VerifiedTarget,
  from: Version,
  to: Version,
): Finding {
  const before = history.find(
    (entry) => entry.version !== source.version || !entry.image.endsWith(source.digest),
  );
  if (sameMinor(from, to) && before?.image.endsWith(target.digest)) {
    return finding(
      'ClusterVersionRollback',
      'Passed',
      `${target.version} is the release before ${source.version}`,
    );
  }
  const why = sameMinor(from, to)
    ? `only the release before it, ${before?.version || 'none'}, may be gone back to`
    : 'a minor version cannot be rolled back';
  return finding(
    'ClusterVersionRollback',
    'Risk',
    `${target.version} is older than ${source.version}, and ${why}`,
    'Go forward to a release that mends what is wrong.',
  );
}

/** While an update is on its way, a patch of the same minor may take its place; a further minor may not. */
function secondHop({ history, source }: GateFacts, from: Version, to: Version): Finding[] {
  const [latest] = history;
  if (latest === undefined || latest.state === 'Completed' || sameMinor(from, to)) return [];
  return [
    finding(
      'ClusterVersionUpdating',
      'Risk',
      `the update to ${source.version} is still in progress, and ${to.text} is another minor version`,
      `Wait until ${source.version} is completed: sluice upgrade status.`,
    ),
  ];
}

function finding(name: string, result: Finding['result'], message: string, next?: string): Finding {
  return {
    name,
    gate: 'edge',
    severity: 'blocking',
    result,
    message,
    ...(next === undefined ? {} : { next }),
  };
}
