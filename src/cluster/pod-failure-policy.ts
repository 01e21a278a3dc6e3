import type { ContainerStatus, Job, Pod } from '../api/core.ts';

export interface MatchedRule {
  readonly action: 'FailJob' | 'Ignore' | 'Count' | 'FailIndex';
  readonly message: string;
}

/**
 * The first rule of a Job's podFailurePolicy that a failed Pod matches (kubernetes,
 * pkg/controller/job/pod_failure_policy.go); undefined where none does: then the failure counts.
 */
export function failureRule(job: Job, pod: Pod): MatchedRule | undefined {
  const rules = job.spec.podFailurePolicy?.rules ?? [];
  for (const [index, rule] of rules.entries()) {
    const where = `matching ${rule.action} rule at index ${index}`;
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    if (rule.onExitCodes !== undefined) {
      const { operator, values, containerName } = rule.onExitCodes;
      const matched = statusesOf(pod).find((status) => {
        const exitCode = status.state?.terminated?.exitCode;
        if (exitCode === undefined || exitCode === 0) return false;
        if (typeof containerName === 'string' && containerName !== status.name) return false;
        return values.includes(exitCode) === (operator === 'In');
      });
      if (matched !== undefined) {
        const code = matched.state?.terminated?.exitCode;
        return {
          action: rule.action,
          message: `Container ${matched.name} for pod ${name} failed with exit code ${code} ${where}`,
        };
      }
      continue;
    }
    const condition = (rule.onPodConditions ?? []).find(({ type, status = 'True' }) =>
      pod.status?.conditions?.some((one) => one.type === type && one.status === status),
    );
    if (condition !== undefined) {
      return { action: rule.action, message: `Pod ${name} has condition ${condition.type} ${where}` };
    }
  }
  return undefined;
}

function statusesOf(pod: Pod): ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}
