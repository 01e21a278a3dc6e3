import { isObject, type JsonObject, type JsonValue } from './json.ts';

/** Sets what is absent (or null); an explicit empty string counts as absent where Go's zero value means "not set". */
export function setDefault(object: JsonObject, name: string, value: JsonValue): void {
  if (object[name] === undefined || object[name] === null || object[name] === '') object[name] = value;
}

export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The object in a field, made where it is absent. */
export function objectIn(parent: JsonObject, name: string): JsonObject {
  const found = parent[name];
  if (isObject(found)) return found;
  const made: JsonObject = {};
  parent[name] = made;
  return made;
}

/** Defaults of a Pod's spec or a template's (kubernetes, pkg/apis/core/v1/defaults.go, and the admission of service accounts). */
export function defaultPodSpec(spec: JsonObject): void {
  setDefault(spec, 'restartPolicy', 'Always');
  setDefault(spec, 'dnsPolicy', 'ClusterFirst');
  setDefault(spec, 'terminationGracePeriodSeconds', 30);
  setDefault(spec, 'schedulerName', 'default-scheduler');
  objectIn(spec, 'securityContext');
  if (spec.serviceAccountName !== undefined) setDefault(spec, 'serviceAccount', spec.serviceAccountName);
  else if (spec.serviceAccount !== undefined) spec.serviceAccountName = spec.serviceAccount;
  for (const list of ['containers', 'initContainers'] as const) {
    for (const container of objectsOf(spec[list])) defaultContainer(container, spec.hostNetwork === true);
  }
  for (const volume of objectsOf(spec.volumes)) defaultVolume(volume);
}

/** What a Pod has beyond a template: its service account, and requests where only limits are given. */
export function defaultPod(pod: JsonObject): void {
  const spec = objectIn(pod, 'spec');
  defaultPodSpec(spec);
  setDefault(spec, 'enableServiceLinks', true);
  setDefault(spec, 'priority', 0);
  setDefault(spec, 'preemptionPolicy', 'PreemptLowerPriority');
  defaultTolerations(spec);
  setDefault(spec, 'serviceAccountName', 'default');
  setDefault(spec, 'serviceAccount', spec.serviceAccountName as string);
  for (const list of ['containers', 'initContainers'] as const) {
    for (const container of objectsOf(spec[list])) {
      const resources = objectIn(container, 'resources');
      if (!isObject(resources.limits)) continue;
      const requests = objectIn(resources, 'requests');
      for (const [name, value] of Object.entries(resources.limits)) setDefault(requests, name, value);
    }
  }
}

/** Taints of a node that is not well, which a Pod bears for a while (kubernetes, admission DefaultTolerationSeconds). */
const shortTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const shortTolerationSeconds = 300;

function defaultTolerations(spec: JsonObject): void {
  const tolerations = objectsOf(spec.tolerations);
  const isBorne = (taint: string) =>
    tolerations.some(({ key = '', effect = '' }) => {
      return (key === taint || key === '') && (effect === 'NoExecute' || effect === '');
    });
  const added = shortTaints
    .filter((taint) => !isBorne(taint))
    .map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: shortTolerationSeconds,
    }));
  if (added.length > 0) spec.tolerations = [...tolerations, ...added];
}

function defaultContainer(container: JsonObject, hostNetwork: boolean): void {
  setDefault(container, 'terminationMessagePath', '/dev/termination-log');
  setDefault(container, 'terminationMessagePolicy', 'File');
  setDefault(container, 'imagePullPolicy', pullPolicy(String(container.image ?? '')));
  objectIn(container, 'resources');
  for (const port of objectsOf(container.ports)) {
    setDefault(port, 'protocol', 'TCP');
    if (hostNetwork && port.containerPort !== undefined) setDefault(port, 'hostPort', port.containerPort);
  }
  for (const variable of objectsOf(container.env)) {
    if (isObject(variable.valueFrom) && isObject(variable.valueFrom.fieldRef)) {
      setDefault(variable.valueFrom.fieldRef, 'apiVersion', 'v1');
    }
  }
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    const found = container[probe];
    if (isObject(found)) defaultProbe(found);
  }
  for (const hook of ['postStart', 'preStop'] as const) {
    const found = isObject(container.lifecycle) ? container.lifecycle[hook] : undefined;
    if (isObject(found)) defaultHttpGet(found);
  }
}

/** Always for `latest` or no tag at all, else IfNotPresent; a digest pins more than a tag. */
function pullPolicy(image: string): string {
  if (image.includes('@')) return 'IfNotPresent';
  const tag = /:([^:/]+)$/.exec(image)?.[1] ?? 'latest';
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: JsonObject): void {
  setDefault(probe, 'timeoutSeconds', 1);
  setDefault(probe, 'periodSeconds', 10);
  setDefault(probe, 'successThreshold', 1);
  setDefault(probe, 'failureThreshold', 3);
  defaultHttpGet(probe);
}

function defaultHttpGet(handler: JsonObject): void {
  if (!isObject(handler.httpGet)) return;
  setDefault(handler.httpGet, 'path', '/');
  setDefault(handler.httpGet, 'scheme', 'HTTP');
}

/** Mode of files in volumes: 0644. */
const fileMode = 0o644;

function defaultVolume(volume: JsonObject): void {
  for (const source of ['secret', 'configMap', 'downwardAPI', 'projected'] as const) {
    const found = volume[source];
    if (isObject(found)) setDefault(found, 'defaultMode', fileMode);
  }
  if (isObject(volume.hostPath) && volume.hostPath.type === undefined) volume.hostPath.type = '';
  for (const { serviceAccountToken: token } of objectsOf(
    isObject(volume.projected) ? volume.projected.sources : undefined,
  )) {
    if (isObject(token)) setDefault(token, 'expirationSeconds', 3600);
  }
  const sources = Object.keys(volume).filter((name) => name !== 'name');
  if (sources.length === 0) volume.emptyDir = {};
}
