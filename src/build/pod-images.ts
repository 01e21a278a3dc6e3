import type { PayloadManifest } from '../payload/payload.ts';

/** Kinds whose objects have a Pod template at `spec.template`. */
const templated = new Set([
  'Deployment',
  'DaemonSet',
  'StatefulSet',
  'ReplicaSet',
  'ReplicationController',
  'Job',
]);
/** What a cluster puts in the place of the release's own image; its operator of versions is in that image. */
const ownImage = '{{.ReleaseImage}}';
const byDigest = /@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$/;

/** Images that an object's Pods name by no digest: nothing on a disk answers to such a name. */
export function unpinnedImages({ object }: PayloadManifest): string[] {
  return podImages(podSpecOf(object)).filter((image) => image !== ownImage && !byDigest.test(image));
}

/** Images that an object's Pods name by digest. */
export function pinnedImages({ object }: PayloadManifest): string[] {
  return podImages(podSpecOf(object)).filter((image) => byDigest.test(image));
}

function podSpecOf(object: PayloadManifest['object']): unknown {
  const spec = at(object, 'spec');
  if (object.kind === 'Pod') return spec;
  if (object.kind === 'CronJob') return at(spec, 'jobTemplate', 'spec', 'template', 'spec');
  return templated.has(object.kind) ? at(spec, 'template', 'spec') : undefined;
}

function podImages(spec: unknown): string[] {
  const images = [
    ...list(at(spec, 'initContainers')).map((each) => at(each, 'image')),
    ...list(at(spec, 'containers')).map((each) => at(each, 'image')),
    ...list(at(spec, 'volumes')).map((each) => at(each, 'image', 'reference')),
  ];
  return [...new Set(images.filter((image) => typeof image === 'string' && image !== ''))] as string[];
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
