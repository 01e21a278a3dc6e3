import type { GateFacts, HistoryFact, VerifiedTarget } from './facts.ts';
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
  if (compareVersions(to, from) < 0) return [rollback(facts, target, sameMinor(from, to))];
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

/**
 * The way back to an older release: passed only to the entry before, inside the minor, whatever state it was left in.
 * Every other way is a risk, which whoever means it accepts by its name.
 */
export function rollback(
  { source, history }: { source: GateFacts['source']; history: readonly HistoryFact[] },
  target: Pick<VerifiedTarget, 'version' | 'digest'>,
  inMinor: boolean,
): Finding {
  const before = history.find(
    (entry) => entry.version !== source.version || !entry.image.endsWith(source.digest),
  );
  if (inMinor && before?.image.endsWith(target.digest)) {
    return finding(
      'ClusterVersionRollback',
      'Passed',
      `${target.version} is the release before ${source.version}`,
    );
  }
  const why = inMinor
    ? `unless it is accepted, only the release before it${before === undefined ? '' : `, ${before.version},`} may be gone back to`
    : 'the way back over a minor version must be accepted: older components may not read what newer ones have written';
  return finding(
    'ClusterVersionRollback',
    'Risk',
    `${target.version} is older than ${source.version}: ${why}`,
    `Go forward to a release that mends what is wrong. Who must go back all the same, with a backup at hand: sluice upgrade --to ${target.version} --accept ClusterVersionRollback.`,
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
