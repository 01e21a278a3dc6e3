import type { InstalledOperator } from './cluster-facts.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';
import { tryVersion, type Version } from './version.ts';

/** Whether every operator installed by OLM allows the release. What it says in a way that cannot be read forbids. */
export function olmGate({ cluster, target }: GateFacts): Finding[] {
  if (!target.verified) return [];
  const gate = { name: 'OperatorsAllowVersion', gate: 'olm', severity: 'blocking' } as const;
  const to = tryVersion(target.version);
  if (to === undefined) return [];
  return findingOf(gate, cluster.olm, (operators) => {
    const against = operators.flatMap((operator) => {
      const why = objection(operator, to);
      return why === undefined ? [] : [{ operator, why }];
    });
    const all = operators.length === 1 ? 'the only operator' : `all ${operators.length} operators`;
    if (against.length === 0)
      return { well: `${all} of OLM ${operators.length === 1 ? 'allows' : 'allow'} ${target.version}` };
    return {
      message: `operators that do not allow ${target.version}: ${listed(against.map(({ operator, why }) => `${operator.namespace}/${operator.name} (${why})`))}`,
      next: 'Update those operators first.',
      objects: against.map(({ operator }) => `clusterserviceversion/${operator.namespace}/${operator.name}`),
    };
  });
}

function objection({ maxOpenShiftVersions }: InstalledOperator, to: Version): string | undefined {
  if (maxOpenShiftVersions.length === 0) return undefined;
  const [value] = maxOpenShiftVersions;
  if (maxOpenShiftVersions.length > 1) return 'it names olm.maxOpenShiftVersion more than once';
  // YAML turns 4.10 into the number 4.1: a number is as good as nothing (operator-framework).
  const match = typeof value === 'string' ? /^v?(\d{1,6})\.(\d{1,6})(?:\.\d{1,6})?$/.exec(value) : null;
  if (match === null) return `its olm.maxOpenShiftVersion ${JSON.stringify(value)} cannot be read`;
  const [, major = '', minor = ''] = match;
  const isBeyond =
    Number(to.major) > Number(major) ||
    (Number(to.major) === Number(major) && Number(to.minor) > Number(minor));
  return isBeyond ? `it allows up to ${major}.${minor}` : undefined;
}
