import { equalJson, type JsonRecord, list, record } from '../object.ts';
import type { Admission, AdmissionVerdict } from '../policy/admission.ts';
import type { AdmissionRequest } from '../policy/request.ts';
import type { Engine } from '../rest/engine.ts';
import { readObject, readObjects } from '../rest/read.ts';
import { errorBody } from '../schema/field-error.ts';
import { invalid } from '../status.ts';
import { podFacts, type Violation } from './facts.ts';
import { type NamespacePolicy, policyOf, strictness } from './labels.ts';
import { type Standard, standardText, violations } from './standards.ts';

/**
 * Holds Pods to the standard that their Namespace asks for (the labels pod-security.kubernetes.io/…), and warns of
 * templates whose Pods would be refused, as the plugin PodSecurity of a real API server does with no configuration of
 * its own. Everything else is judged by `then`.
 */
export function withPodSecurity(engine: Engine, then: Admission): Admission {
  return {
    review(request) {
      const found = judged(engine, request);
      if (found?.denied !== undefined) return found;
      const verdict = then.review(request);
      return found === undefined
        ? verdict
        : { ...verdict, warnings: [...found.warnings, ...verdict.warnings] };
    },
  };
}

/** Where a kind has its Pod: the way to what carries `metadata` and `spec`. */
const podPaths: Readonly<Record<string, readonly string[]>> = {
  pods: [],
  'deployments.apps': ['spec', 'template'],
  'statefulsets.apps': ['spec', 'template'],
  'daemonsets.apps': ['spec', 'template'],
  'jobs.batch': ['spec', 'template'],
  'cronjobs.batch': ['spec', 'jobTemplate', 'spec', 'template'],
};

const ignoredPodSubresources = new Set(['binding', 'eviction', 'log', 'status']);

function judged(engine: Engine, request: AdmissionRequest): AdmissionVerdict | undefined {
  const { operation, group, resource, subresource } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined;
  const name = group === '' ? resource : `${resource}.${group}`;
  if (name === 'namespaces') return subresource === undefined ? judgedNamespace(engine, request) : undefined;
  const path = podPaths[name];
  if (path === undefined) return undefined;
  const isPod = path.length === 0;
  if (subresource !== undefined && !(isPod && !ignoredPodSubresources.has(subresource))) return undefined;
  const namespace = readObject(
    engine,
    engine.resources.builtIn('v1', 'namespaces'),
    '',
    request.namespace ?? '',
  );
  const policy = policyOf(namespace?.metadata.labels ?? {});
  const pod = path.reduce<JsonRecord>((part, field) => record(part[field]), record(request.object));
  if (
    isPod &&
    operation === 'UPDATE' &&
    !hasNewImage(record(pod.spec), record(record(request.oldObject).spec))
  ) {
    return undefined;
  }
  return judgedPod(policy, pod, isPod);
}

function judgedPod(policy: NamespacePolicy, pod: JsonRecord, isEnforced: boolean): AdmissionVerdict {
  const facts = podFacts(pod.metadata, pod.spec);
  const enforced = isEnforced ? violations(policy.enforce, facts) : [];
  if (enforced.length > 0) {
    const message = `violates PodSecurity "${standardText(policy.enforce)}": ${detailed(enforced)}`;
    return { denied: { code: 403, reason: 'Forbidden', message }, warnings: [], audit: {} };
  }
  const warned = violations(policy.warn, facts);
  const warnings =
    warned.length === 0
      ? []
      : [`would violate PodSecurity "${standardText(policy.warn)}": ${detailed(warned)}`];
  return { warnings, audit: {} };
}

function detailed(found: readonly Violation[]): string {
  return found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
}

/** Whether an update brings an image, which is all of a Pod that can change and matters here. */
function hasNewImage(spec: JsonRecord, old: JsonRecord): boolean {
  const images = (of: JsonRecord, field: string) =>
    list(of[field]).map((container) => record(container).image);
  return ['containers', 'initContainers'].some(
    (field) => !equalJson(images(spec, field), images(old, field)),
  );
}

/** Labels that cannot be read are refused when they are set; Pods that a new label would refuse are warned of. */
function judgedNamespace(engine: Engine, request: AdmissionRequest): AdmissionVerdict | undefined {
  const labels = (object: unknown) => record(record(record(object).metadata).labels);
  const policy = policyOf(labels(request.object));
  const old = request.oldObject === null ? undefined : policyOf(labels(request.oldObject));
  if (policy.problems.length > 0 && !equalJson(policy.problems, old?.problems)) {
    throw invalid(
      { group: '', kind: 'Namespace' },
      request.name,
      policy.problems.map((problem) => ({
        reason: problem.type,
        message: errorBody(problem),
        field: problem.field,
      })),
    );
  }
  if (old === undefined || equalJson(policy.enforce, old.enforce) || policy.enforce.level === 'privileged') {
    return undefined;
  }
  const isRelaxed = strictness(policy.enforce.level) <= strictness(old.enforce.level);
  if (policy.enforce.version === old.enforce.version && isRelaxed) return undefined;
  return { warnings: standingPods(engine, request.name, policy.enforce), audit: {} };
}

/** Which Pods that stand are against a standard; those of one fault are one line. */
function standingPods(engine: Engine, namespace: string, standard: Standard): string[] {
  const byFault = new Map<string, string[]>();
  for (const pod of readObjects(engine, engine.resources.builtIn('v1', 'pods'), namespace)) {
    const found = violations(standard, podFacts(pod.metadata, pod.spec));
    if (found.length === 0) continue;
    const fault = found.map(({ reason }) => reason).join(', ');
    byFault.set(fault, [...(byFault.get(fault) ?? []), pod.metadata.name]);
  }
  if (byFault.size === 0) return [];
  const lines = [...byFault].map(([fault, pods]) => {
    const [first] = pods.sort();
    const others = pods.length - 1;
    const more = others === 0 ? '' : others === 1 ? ' (and 1 other pod)' : ` (and ${others} other pods)`;
    return `${first}${more}: ${fault}`;
  });
  const what = `violate the new PodSecurity enforce level "${standardText(standard)}"`;
  return [`existing pods in namespace "${namespace}" ${what}`, ...lines.sort()];
}
