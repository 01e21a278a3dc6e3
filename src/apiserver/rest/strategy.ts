import { type KubeObject, list, record } from '../object.ts';
import type { UserInfo } from '../policy/rbac.ts';
import type { Served } from '../served.ts';
import type { Engine } from './engine.ts';
import { admitPod } from './pod-admission.ts';

/** What each built-in kind does of its own when it is written (kubernetes, pkg/registry strategies). */
interface Strategy {
  onCreate?(object: KubeObject, user: UserInfo, engine: Engine): void;
  onUpdate?(object: KubeObject, old: KubeObject, subresource: string): void;
  /** False: an update must name the version that it replaces. */
  readonly unconditionalUpdate?: boolean;
}

export const crdFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const strategies: Readonly<Record<string, Strategy>> = {
  namespaces: {
    onCreate(object) {
      object.metadata.labels = {
        ...object.metadata.labels,
        'kubernetes.io/metadata.name': object.metadata.name,
      };
      object.spec = { finalizers: ['kubernetes'] };
      object.status = { phase: 'Active' };
    },
    onUpdate(object, old, subresource) {
      if (subresource === 'finalize') object.status = old.status;
      else object.spec = old.spec;
      object.metadata.labels = {
        ...object.metadata.labels,
        'kubernetes.io/metadata.name': object.metadata.name,
      };
    },
  },
  pods: {
    onCreate(object, _user, engine) {
      admitPod(engine, object);
      object.status = { phase: 'Pending', qosClass: qualityOfService(object) };
    },
    onUpdate(object, old, subresource) {
      if (subresource !== 'status') return;
      object.status = { ...record(object.status), qosClass: record(old.status).qosClass };
    },
  },
  'jobs.batch': { onCreate: labelJob },
  'customresourcedefinitions.apiextensions.k8s.io': {
    onCreate(object) {
      const finalizers = new Set([...list(object.metadata.finalizers).map(String), crdFinalizer]);
      object.metadata.finalizers = [...finalizers];
    },
    unconditionalUpdate: false,
  },
  'certificatesigningrequests.certificates.k8s.io': {
    onCreate(object, user) {
      object.spec = {
        ...record(object.spec),
        username: user.username,
        groups: [...user.groups],
        ...(user.uid === undefined ? {} : { uid: user.uid }),
      };
    },
  },
  'leases.coordination.k8s.io': { unconditionalUpdate: false },
  'poddisruptionbudgets.policy': { unconditionalUpdate: false },
};

export function prepareCreate(engine: Engine, served: Served, object: KubeObject, user: UserInfo): void {
  strategies[served.storage]?.onCreate?.(object, user, engine);
}

export function prepareUpdate(
  served: Served,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
): void {
  strategies[served.storage]?.onUpdate?.(object, old, subresource);
}

/** Whether an update may leave out the version that it replaces. */
export function unconditionalUpdate(served: Served): boolean {
  return served.custom === undefined && strategies[served.storage]?.unconditionalUpdate !== false;
}

/** The labels by which a Job knows its Pods, made from its uid (kubernetes, pkg/registry/batch/job/strategy.go). */
function labelJob(object: KubeObject): void {
  const spec = record(object.spec);
  const template = record(spec.template);
  const metadata = record(template.metadata);
  if (spec.manualSelector === true) {
    labelAsTemplate(object, record(metadata.labels));
    return;
  }
  const uid = String(object.metadata.uid);
  const labels = {
    ...record(metadata.labels),
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': object.metadata.name,
    'controller-uid': uid,
    'job-name': object.metadata.name,
  };
  object.spec = {
    ...spec,
    selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
    template: { ...template, metadata: { ...metadata, labels } },
  };
  labelAsTemplate(object, labels);
}

/** A Job without labels has those of its Pods. */
function labelAsTemplate(object: KubeObject, labels: Record<string, unknown>): void {
  if (Object.keys(object.metadata.labels ?? {}).length > 0 || Object.keys(labels).length === 0) return;
  object.metadata.labels = { ...labels } as Record<string, string>;
}

/** Guaranteed: limits of cpu and memory everywhere, equal to the requests; BestEffort: none; else Burstable. */
function qualityOfService(pod: KubeObject): string {
  const spec = record(pod.spec);
  const containers = [...list(spec.containers), ...list(spec.initContainers)].map(record);
  let any = false;
  let guaranteed = containers.length > 0;
  for (const container of containers) {
    const { requests, limits } = record(container.resources) as Record<
      string,
      Record<string, unknown> | undefined
    >;
    for (const resource of ['cpu', 'memory']) {
      const limit = limits?.[resource];
      const request = requests?.[resource] ?? limit;
      if (limit !== undefined || request !== undefined) any = true;
      if (limit === undefined || limit !== request) guaranteed = false;
    }
  }
  return guaranteed ? 'Guaranteed' : any ? 'Burstable' : 'BestEffort';
}
