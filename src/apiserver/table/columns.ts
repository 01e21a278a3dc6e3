import { type KubeObject, list, record } from '../object.ts';
import type { Served } from '../served.ts';
import { accessLayouts } from './access.ts';
import { age, type Column, column, name, type TableLayout } from './column.ts';
import { ageOf, humanDuration } from './duration.ts';
import { podLayout } from './pod.ts';
import { workloadLayouts } from './workload.ts';

/**
 * The columns of the built-in kinds and what they show (kubernetes, pkg/printers/internalversion/printers.go).
 * Priority 1 is shown by `kubectl get -o wide` alone.
 */
const layouts: Readonly<Record<string, readonly Column[]>> = {
  pods: podLayout,
  ...workloadLayouts,
  ...accessLayouts,
  namespaces: [name, column('Status', ({ object }) => record(object.status).phase ?? ''), age],
  nodes: [
    name,
    column('Status', ({ object }) => nodeStatus(object)),
    column('Roles', ({ object }) => nodeRoles(object)),
    age,
    column('Version', ({ object }) => nodeInfo(object).kubeletVersion ?? ''),
    column('Internal-IP', ({ object }) => nodeAddress(object, 'InternalIP'), { priority: 1 }),
    column('External-IP', ({ object }) => nodeAddress(object, 'ExternalIP'), { priority: 1 }),
    column('OS-Image', ({ object }) => nodeInfo(object).osImage || '<unknown>', { priority: 1 }),
    column('Kernel-Version', ({ object }) => nodeInfo(object).kernelVersion || '<unknown>', { priority: 1 }),
    column('Container-Runtime', ({ object }) => nodeInfo(object).containerRuntimeVersion || '<unknown>', {
      priority: 1,
    }),
  ],
  configmaps: [
    name,
    column('Data', ({ object }) => size(object.data) + size(object.binaryData), { type: 'integer' }),
    age,
  ],
  secrets: [
    name,
    column('Type', ({ object }) => object.type ?? ''),
    column('Data', ({ object }) => size(object.data), { type: 'integer' }),
    age,
  ],
  events: [
    column('Last Seen', ({ object, now }) => ageOf(lastSeen(object), now)),
    column('Type', ({ object }) => object.type ?? ''),
    column('Reason', ({ object }) => object.reason ?? ''),
    column('Object', ({ object }) => {
      const { kind, name: involved } = record(object.involvedObject);
      return involved ? `${String(kind ?? '').toLowerCase()}/${involved}` : String(kind ?? '').toLowerCase();
    }),
    column('Subobject', ({ object }) => record(object.involvedObject).fieldPath ?? '', { priority: 1 }),
    column('Source', ({ object }) => eventSource(object), { priority: 1 }),
    column('Message', ({ object }) => String(object.message ?? '').trim()),
    column('First Seen', ({ object, now }) => ageOf(object.firstTimestamp ?? object.eventTime, now), {
      priority: 1,
    }),
    column('Count', ({ object }) => record(object.series).count ?? object.count ?? 1, {
      priority: 1,
      type: 'string',
    }),
    column('Name', ({ object }) => object.metadata.name, { priority: 1, format: 'name' }),
  ],
  services: [
    name,
    column('Type', ({ object }) => record(object.spec).type ?? 'ClusterIP'),
    column('Cluster-IP', ({ object }) => record(object.spec).clusterIP || '<none>'),
    column('External-IP', ({ object }) => list(record(object.spec).externalIPs).join(',') || '<none>'),
    column('Port(s)', ({ object }) => servicePorts(object)),
    age,
    column('Selector', ({ object }) => labels(record(object.spec).selector), { priority: 1 }),
  ],
  'leases.coordination.k8s.io': [
    name,
    column('Holder', ({ object }) => record(object.spec).holderIdentity ?? ''),
    age,
  ],
  'poddisruptionbudgets.policy': [
    name,
    column('Min Available', ({ object }) => String(record(object.spec).minAvailable ?? 'N/A')),
    column('Max Unavailable', ({ object }) => String(record(object.spec).maxUnavailable ?? 'N/A')),
    column('Allowed Disruptions', ({ object }) => record(object.status).disruptionsAllowed ?? 0, {
      type: 'integer',
    }),
    age,
  ],
  'networkpolicies.networking.k8s.io': [
    name,
    column('Pod-Selector', ({ object }) => selectorText(record(object.spec).podSelector)),
    age,
  ],
  'priorityclasses.scheduling.k8s.io': [
    name,
    column('Value', ({ object }) => object.value ?? 0, { type: 'integer' }),
    column('Global-Default', ({ object }) => object.globalDefault === true, { type: 'boolean' }),
    age,
    column('PreemptionPolicy', ({ object }) => object.preemptionPolicy ?? 'PreemptLowerPriority'),
  ],
  'storageclasses.storage.k8s.io': [
    name,
    column('Provisioner', ({ object }) => object.provisioner ?? ''),
    column('ReclaimPolicy', ({ object }) => object.reclaimPolicy ?? 'Delete'),
    column('VolumeBindingMode', ({ object }) => object.volumeBindingMode ?? 'Immediate'),
    column('AllowVolumeExpansion', ({ object }) => object.allowVolumeExpansion === true),
    age,
  ],
  'certificatesigningrequests.certificates.k8s.io': [
    name,
    age,
    column('SignerName', ({ object }) => record(object.spec).signerName ?? '<none>'),
    column('Requestor', ({ object }) => record(object.spec).username ?? ''),
    column('RequestedDuration', ({ object }) => {
      const seconds = record(object.spec).expirationSeconds;
      return typeof seconds === 'number' ? humanDuration(seconds * 1000) : '<none>';
    }),
    column('Condition', ({ object }) => csrCondition(object)),
  ],
  'flowschemas.flowcontrol.apiserver.k8s.io': [
    name,
    column(
      'PriorityLevel',
      ({ object }) => record(record(object.spec).priorityLevelConfiguration).name ?? '<none>',
    ),
    column('MatchingPrecedence', ({ object }) => record(object.spec).matchingPrecedence ?? 1000, {
      type: 'integer',
    }),
    column(
      'DistinguisherMethod',
      ({ object }) => record(record(object.spec).distinguisherMethod).type ?? '<none>',
    ),
    age,
  ],
};

const fallback: readonly Column[] = [name, age];
const made = new Map<string, TableLayout>();

export function columnsOf(served: Served): TableLayout {
  const known = made.get(served.storage);
  if (known !== undefined) return known;
  const columns = layouts[served.storage] ?? fallback;
  const layout: TableLayout = {
    definitions: columns.map(({ definition }) => definition),
    cells: (object, now) => columns.map(({ cell }) => cell({ object, now })),
  };
  made.set(served.storage, layout);
  return layout;
}

export function size(value: unknown): number {
  return Object.keys(record(value)).length;
}

function labels(value: unknown): string {
  const pairs = Object.entries(record(value)).map(([key, text]) => `${key}=${text}`);
  return pairs.sort().join(',') || '<none>';
}

function selectorText(value: unknown): string {
  return labels(record(value).matchLabels);
}

function nodeInfo(node: KubeObject): Record<string, unknown> {
  return record(record(node.status).nodeInfo);
}

function nodeStatus(node: KubeObject): string {
  const ready = list(record(node.status).conditions)
    .map(record)
    .find((condition) => condition.type === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (record(node.spec).unschedulable === true) words.push('SchedulingDisabled');
  return words.join(',');
}

function nodeRoles(node: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter((label) => label.startsWith(prefix) && label.length > prefix.length)
    .map((label) => label.slice(prefix.length));
  const role = node.metadata.labels?.['kubernetes.io/role'];
  if (role) roles.push(role);
  return [...new Set(roles)].sort().join(',') || '<none>';
}

function nodeAddress(node: KubeObject, type: string): string {
  const found = list(record(node.status).addresses)
    .map(record)
    .find((address) => address.type === type);
  return String(found?.address ?? '<none>');
}

function lastSeen(event: KubeObject): unknown {
  return (
    record(event.series).lastObservedTime ?? event.lastTimestamp ?? event.firstTimestamp ?? event.eventTime
  );
}

function eventSource(event: KubeObject): string {
  const { component, host } = record(event.source);
  const source = component ?? event.reportingComponent ?? '';
  const where = host ?? event.reportingInstance ?? '';
  return where ? `${source}, ${where}` : String(source);
}

function servicePorts(service: KubeObject): string {
  const ports = list(record(service.spec).ports).map(record);
  const shown = ports.map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol ?? 'TCP'}` : `${port}/${protocol ?? 'TCP'}`,
  );
  return shown.join(',') || '<none>';
}

function csrCondition(request: KubeObject): string {
  const { conditions, certificate } = record(request.status);
  const types = list(conditions).map((condition) => String(record(condition).type));
  const word = ['Denied', 'Approved', 'Failed'].find((type) => types.includes(type)) ?? 'Pending';
  return certificate ? `${word},Issued` : word;
}
