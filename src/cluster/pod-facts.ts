import type { KubeObject, Pod } from '../api/core.ts';

/** Whether all that a Pod will ever do is done. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Unix milliseconds since when it is ready; undefined where it is not. */
export function readySince(pod: Pod): number | undefined {
  const condition = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');
  return condition === undefined ? undefined : Date.parse(condition.lastTransitionTime ?? '') || 0;
}

/** Whether the object's controlling owner is this one. */
export function isControlledBy(object: KubeObject, ownerUid: string | undefined): boolean {
  return controllerOf(object)?.uid === ownerUid && ownerUid !== undefined;
}

export function controllerOf(object: KubeObject) {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Unix milliseconds at which the last container of an ended Pod ended; undefined where it is not known. */
export function finishedAt(pod: Pod): number | undefined {
  const times = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
    .map((status) => Date.parse(status.state?.terminated?.finishedAt ?? ''))
    .filter(Number.isFinite);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Random ending of generated names, from the letters that Kubernetes uses: no vowels, nothing alike. */
export function nameSuffix(random: () => number, length = 5): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('');
}

/** A name for a Pod of an owner: at most 63 characters, so that it serves as a label too. */
export function podName(prefix: string, random: () => number): string {
  return `${prefix.slice(0, 63 - 6).replace(/[-.]+$/, '')}-${nameSuffix(random)}`;
}
