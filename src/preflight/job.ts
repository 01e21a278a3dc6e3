import type { Container, Draft, EnvVar, Job, PodSpec, Toleration, Volume } from '../api/core.ts';
import type { Platform } from '../api/kinds.ts';
import { labels } from '../api/names.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { parseReference } from '../oci/reference.ts';

/** Everything of a run that its Jobs are made with. */
export interface RunContext {
  readonly runID: string;
  readonly platform: Platform;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly timeoutMs: number;
  readonly source: { readonly version: string; readonly digest: string };
  readonly target: {
    readonly version: string;
    readonly digest: string;
    /** The payload image, by digest. */
    readonly image: string;
    readonly kernel?: string;
    readonly osVersion?: string;
  };
}

/** Where a check finds the manifests of the release. */
const manifestsPath = '/release-manifests';
/** A user that is nobody: an image without one of its own must not run as root. */
const plainUser = 65532;
const jobNameCharsMax = 63;
const manifestsSizeMax = '256Mi';
const temporarySizeMax = '64Mi';
/**
 * What a check may ask for: whatever else Kubernetes knows or will know is refused. Not Secrets, in no way, for its
 * output stands in a report that many may read; no ports of the host; nothing that runs beside the one program.
 */
const containerFields = [
  'name',
  'image',
  'imagePullPolicy',
  'command',
  'args',
  'workingDir',
  'env',
  'envFrom',
  'resources',
  'volumeMounts',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'securityContext', // Replaced by ours.
];
const volumeKinds = ['emptyDir', 'configMap', 'downwardAPI', 'projected'];
const projectedKinds = ['configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle'];
const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef'];
const environmentSources = ['configMapRef'];

/** A check must be able to run where the update will: on cordoned nodes and on the control plane too. */
const tolerations: Toleration[] = [
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' },
  { key: 'node-role.kubernetes.io/master', operator: 'Exists' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists' },
];

/** The name of a check's Job in a run: the same each time it is asked, so that a run never has two. */
export function jobName(check: string, runID: string): string {
  const room = jobNameCharsMax - runID.length - 1;
  return `${check.slice(0, room).replace(/[-.]+$/, '')}-${runID}`;
}

/**
 * The Job that runs a check: the release's manifest with the identity, limits and data of this run. What could
 * change the host or run something that is not named by digest is refused, not mended.
 *
 * Errors: Forbidden.
 */
export function renderJob(manifest: Job, check: string, context: RunContext): Draft<Job> {
  const { spec } = manifest;
  const pod = spec.template.spec;
  refuseUnsafe(manifest);
  const [container] = pod.containers;
  if (container === undefined) throw refused('it has no container');
  const marks = { [labels.preflightRun]: context.runID, [labels.preflightCheck]: check };
  const seconds = Math.ceil(context.timeoutMs / 1000);
  return {
    metadata: { name: jobName(check, context.runID), namespace: context.namespace, labels: marks },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: Math.min(seconds, spec.activeDeadlineSeconds ?? seconds),
      template: {
        metadata: { labels: { ...spec.template.metadata?.labels, ...marks } },
        spec: renderPod(pod, container, check, context),
      },
    },
  };
}

function renderPod(pod: PodSpec, container: Container, check: string, context: RunContext): PodSpec {
  return {
    restartPolicy: 'Never',
    serviceAccountName: context.serviceAccount,
    automountServiceAccountToken: true,
    terminationGracePeriodSeconds: 10,
    nodeSelector: { 'kubernetes.io/os': 'linux', ...pod.nodeSelector },
    tolerations: [...tolerations, ...(pod.tolerations ?? [])],
    securityContext: {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      ...userOf(pod.securityContext?.runAsUser, context.platform),
    },
    initContainers: [payloadContainer(context)],
    containers: [
      {
        ...container,
        env: [
          ...(container.env ?? []).filter((each) => !each.name.startsWith('SLUICE_')),
          ...environment(check, context),
        ],
        resources: resourcesOf(container),
        securityContext: restricted,
        terminationMessagePolicy: 'FallbackToLogsOnError',
        volumeMounts: [
          ...(container.volumeMounts ?? []).filter((mount) => !ourMounts.includes(mount.mountPath)),
          { name: 'release-manifests', mountPath: manifestsPath, readOnly: true },
          { name: 'temporary', mountPath: '/tmp' },
        ],
      },
    ],
    volumes: [
      ...(pod.volumes ?? []),
      { name: 'release-manifests', emptyDir: { sizeLimit: manifestsSizeMax } },
      { name: 'temporary', emptyDir: { sizeLimit: temporarySizeMax } },
    ],
  };
}

const ourMounts: readonly string[] = [manifestsPath, '/tmp'];

/** Every field is set: what is left open, an admission plugin fills in with something else. */
const restricted = {
  allowPrivilegeEscalation: false,
  privileged: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** On OpenShift the security context constraint picks a user of the namespace's range; elsewhere nobody does. */
function userOf(wanted: number | undefined, platform: Platform): { runAsUser?: number } {
  if (platform === 'openshift') return {};
  return { runAsUser: wanted === undefined || wanted === 0 ? plainUser : wanted };
}

/** Copies the release's manifests out of its payload image, for the check to read. */
function payloadContainer(context: RunContext): Container {
  return {
    name: 'payload',
    image: context.target.image,
    command: ['cp', '-r', `${manifestsPath}/.`, '/copy/'],
    resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '128Mi' } },
    securityContext: restricted,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [{ name: 'release-manifests', mountPath: '/copy' }],
  };
}

function environment(check: string, { runID, source, target }: RunContext): EnvVar[] {
  const values: Record<string, string> = {
    SLUICE_RUN_ID: runID,
    SLUICE_CHECK: check,
    SLUICE_SOURCE_VERSION: source.version,
    SLUICE_SOURCE_DIGEST: source.digest,
    SLUICE_TARGET_VERSION: target.version,
    SLUICE_TARGET_DIGEST: target.digest,
    SLUICE_KERNEL: target.kernel ?? '',
    SLUICE_OS_VERSION: target.osVersion ?? '',
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function resourcesOf({ resources }: Container): NonNullable<Container['resources']> {
  return {
    requests: { cpu: '10m', memory: '32Mi', ...resources?.requests },
    limits: { memory: '256Mi', ...resources?.limits },
  };
}

function refuseUnsafe({ spec }: Job): void {
  const pod = spec.template.spec;
  if (spec.selector !== undefined || spec.manualSelector === true) throw refused('it sets a selector');
  if (pod.hostNetwork === true || pod.hostPID === true)
    throw refused('it asks for the network or processes of the host');
  if (pod.containers.length > 1)
    throw refused(`it has ${pod.containers.length} containers, and only one can answer`);
  if ((pod.initContainers ?? []).length > 0) throw refused('it has init containers of its own');
  for (const volume of pod.volumes ?? []) refuseVolume(volume);
  for (const container of pod.containers) {
    refuseImage(container);
    refuseFields(container);
  }
}

function refuseVolume(volume: Volume): void {
  const kind = foreignKey(volume, ['name', ...volumeKinds]);
  if (kind !== undefined) throw refused(`its volume ${volume.name} is of the kind ${kind}`);
  for (const source of volume.projected?.sources ?? []) {
    const projected = foreignKey(source, projectedKinds);
    if (projected !== undefined) throw refused(`its volume ${volume.name} projects a ${projected}`);
  }
}

function refuseFields(container: Container): void {
  const field = foreignKey(container, containerFields);
  if (field !== undefined) throw refused(`its container ${container.name} sets ${field}`);
  for (const { name, valueFrom } of container.env ?? []) {
    const source = foreignKey(valueFrom ?? {}, valueSources);
    if (source !== undefined) throw refused(`its variable ${name} comes from a ${source}`);
  }
  for (const each of container.envFrom ?? []) {
    const source = foreignKey(each, ['prefix', ...environmentSources]);
    if (source !== undefined)
      throw refused(`its container ${container.name} takes variables from a ${source}`);
  }
}

/** The first field of an object that is not among these. */
function foreignKey(object: object, allowed: readonly string[]): string | undefined {
  return Object.keys(object).find((key) => !allowed.includes(key));
}

function refuseImage(container: Container): void {
  const image = container.image ?? '';
  let digest: string | undefined;
  try {
    ({ digest } = parseReference(image));
  } catch (error) {
    throw refused(`the image of its container ${container.name}: ${messageOf(error)}`);
  }
  if (digest === undefined) throw refused(`the image ${image} is not named by digest`);
}

function refused(why: string): SluiceError {
  return new SluiceError('Forbidden', `the check is not run: ${why}`);
}
