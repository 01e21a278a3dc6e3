import type { GateFacts, OperatorFact } from './facts.ts';
import { type Finding, findingName } from './finding.ts';
import { sameMinor, tryVersion } from './version.ts';

/**
 * Whether the running operators agree to a minor update. `Upgradeable=False` blocks minor and major moves and is
 * told for patches; absent, True and Unknown allow. Overrides follow the same rule.
 */
export function operatorsGate(facts: GateFacts): Finding[] {
  const { operators, target, source, overrides } = facts;
  if (!target.verified) return [];
  if (!operators.known) {
    return [
      {
        name: 'ClusterOperatorsUpgradeable',
        gate: 'operators',
        severity: 'blocking',
        result: 'Error',
        message: operators.why,
      },
    ];
  }
  const from = tryVersion(source.version);
  const to = tryVersion(target.version);
  const patch = from !== undefined && to !== undefined && sameMinor(from, to);
  const severity = patch ? 'warning' : 'blocking';
  const findings = operators.value.flatMap((operator) => [
    ...notUpgradeable(operator, severity),
    ...unwell(operator),
  ]);
  if (overrides.length > 0) {
    findings.push({
      name: 'ClusterVersionOverrides',
      gate: 'operators',
      severity,
      result: 'Risk',
      message: `spec.overrides takes objects out of management, which an update would leave behind: ${overrides.join(', ')}`,
      next: 'Remove the overrides.',
    });
  }
  if (findings.some((finding) => finding.severity === 'blocking')) return findings;
  const message =
    operators.value.length === 0
      ? 'no ClusterOperator exists'
      : `none of the ${operators.value.length} ClusterOperators stands against this update`;
  return [
    {
      name: 'ClusterOperatorsUpgradeable',
      gate: 'operators',
      severity: 'blocking',
      result: 'Passed',
      message,
    },
    ...findings,
  ];
}

function notUpgradeable(operator: OperatorFact, severity: Finding['severity']): Finding[] {
  const upgradeable = operator.conditions.find((condition) => condition.type === 'Upgradeable');
  if (upgradeable?.status !== 'False') return [];
  return [
    {
      name: findingName(`ClusterOperatorUpgradeable-${operator.name}`),
      gate: 'operators',
      severity,
      result: 'Risk',
      message:
        `ClusterOperator ${operator.name} does not agree to a minor update (${upgradeable.reason ?? 'no reason'}): ${upgradeable.message ?? ''}`.trim(),
      next: `Do first what its message asks for; all of them: sluice upgrade status --details=operators.`,
      objects: [`clusteroperator/${operator.name}`],
    },
  ];
}

function unwell(operator: OperatorFact): Finding[] {
  const sick = operator.conditions.filter(
    (condition) =>
      (condition.type === 'Available' && condition.status === 'False') ||
      (condition.type === 'Degraded' && condition.status === 'True'),
  );
  return sick.map((condition) => ({
    name: findingName(
      `ClusterOperator${condition.type === 'Available' ? 'NotAvailable' : 'Degraded'}-${operator.name}`,
    ),
    gate: 'operators',
    severity: 'warning',
    result: 'Risk',
    message:
      `ClusterOperator ${operator.name} is ${condition.type}=${condition.status} (${condition.reason ?? 'no reason'}): ${condition.message ?? ''}`.trim(),
    objects: [`clusteroperator/${operator.name}`],
  }));
}
