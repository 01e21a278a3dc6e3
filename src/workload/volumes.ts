import type { ConfigMap, KeyToPath, Pod, Secret, Volume } from '../api/core.ts';
import { ConfigError, fieldOf } from './environment.ts';

/** One file that the kubelet writes into a volume. */
export interface VolumeFile {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Files by relative path. */
export type VolumeFiles = Map<string, VolumeFile>;

export interface VolumeSources {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** The token of a serviceAccountToken source; made before, since it is asked for over the network. */
  token(audience: string | undefined, expirationSeconds: number | undefined): string;
  readonly nodeAddress: string;
}

const modeDefault = 0o644;
/** Where Pods find their ServiceAccount; the volume is added where the API has not done so. */
export const serviceAccountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
export const serviceAccountVolume = 'kube-api-access';

/**
 * Capabilities that a container may add (kubernetes.io, Pod Security Standards, Baseline). With others it would be as
 * good as privileged: no second wall stands around containers here.
 */
const capabilitiesAllowed = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

/** What a kubelet of this kind does not do; undefined where the Pod asks for nothing of it. */
export function unsupported(pod: Pod): string | undefined {
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.hostPath !== undefined) return `volume ${volume.name}: hostPath is not allowed on this node`;
    const known = ['emptyDir', 'configMap', 'secret', 'downwardAPI', 'projected'];
    const kind = Object.keys(volume).find((key) => key !== 'name' && !known.includes(key));
    if (kind !== undefined) return `volume ${volume.name}: ${kind} is not in the scope of this node`;
  }
  const spec = pod.spec as typeof pod.spec & { hostIPC?: boolean; ephemeralContainers?: unknown[] };
  if (spec.hostPID === true || spec.hostIPC === true)
    return 'hostPID and hostIPC are not allowed on this node';
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const more = container as typeof container & { restartPolicy?: string; volumeDevices?: unknown[] };
    if (container.securityContext?.privileged === true) {
      return `container ${container.name}: privileged containers are not allowed on this node`;
    }
    const added = container.securityContext?.capabilities?.add ?? [];
    const foreign = added.find((each) => !capabilitiesAllowed.includes(each));
    if (foreign !== undefined) {
      return `container ${container.name}: the capability ${foreign} is not allowed on this node`;
    }
    if (more.restartPolicy === 'Always')
      return `container ${container.name}: sidecar init containers are not in scope`;
    if ((more.volumeDevices ?? []).length > 0)
      return `container ${container.name}: block devices are not in scope`;
  }
  return undefined;
}

/**
 * The Pod with the volume of its ServiceAccount in it (kubernetes, plugin/pkg/admission/serviceaccount), where it
 * wants one and has none.
 */
export function withServiceAccount(pod: Pod, accountMounts: boolean): Pod {
  if (!(pod.spec.automountServiceAccountToken ?? accountMounts)) return pod;
  const lacking = (mounts: readonly { mountPath: string }[] = []) =>
    !mounts.some(({ mountPath }) => mountPath === serviceAccountPath);
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  if (!all.some((container) => lacking(container.volumeMounts))) return pod;
  const mount = { name: serviceAccountVolume, mountPath: serviceAccountPath, readOnly: true };
  const mounted = <T extends (typeof all)[number]>(container: T): T =>
    lacking(container.volumeMounts)
      ? { ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] }
      : container;
  const volume: Volume = {
    name: serviceAccountVolume,
    projected: {
      defaultMode: modeDefault,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      ],
    },
  };
  return {
    ...pod,
    spec: {
      ...pod.spec,
      volumes: [...(pod.spec.volumes ?? []), volume],
      containers: pod.spec.containers.map(mounted),
      ...(pod.spec.initContainers === undefined
        ? {}
        : { initContainers: pod.spec.initContainers.map(mounted) }),
    },
  };
}

/** Names of the ConfigMaps and Secrets that a Pod refers to. */
export function references(pod: Pod): { configMaps: Set<string>; secrets: Set<string> } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      if (configMapRef !== undefined) configMaps.add(configMapRef.name);
      if (secretRef !== undefined) secrets.add(secretRef.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      if (valueFrom?.configMapKeyRef !== undefined) configMaps.add(valueFrom.configMapKeyRef.name);
      if (valueFrom?.secretKeyRef !== undefined) secrets.add(valueFrom.secretKeyRef.name);
    }
  }
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.configMap !== undefined) configMaps.add(volume.configMap.name);
    if (volume.secret !== undefined) secrets.add(volume.secret.secretName);
    for (const { configMap, secret } of volume.projected?.sources ?? []) {
      if (configMap !== undefined) configMaps.add(configMap.name);
      if (secret !== undefined) secrets.add(secret.name);
    }
  }
  return { configMaps, secrets };
}

/** The files of a volume that the kubelet writes; undefined for one that it only makes. Errors: ConfigError. */
export function volumeFiles(pod: Pod, volume: Volume, sources: VolumeSources): VolumeFiles | undefined {
  const files: VolumeFiles = new Map();
  if (volume.configMap !== undefined) {
    const { name, items, optional, defaultMode } = volume.configMap;
    addObject(files, 'configmap', name, bytesOf(sources.configMap(name)), { items, optional, defaultMode });
    return files;
  }
  if (volume.secret !== undefined) {
    const { secretName, items, optional, defaultMode } = volume.secret;
    addObject(files, 'secret', secretName, bytesOf(sources.secret(secretName)), {
      items,
      optional,
      defaultMode,
    });
    return files;
  }
  if (volume.downwardAPI !== undefined) {
    addFields(files, pod, volume.downwardAPI, volume.downwardAPI.defaultMode, sources.nodeAddress);
    return files;
  }
  if (volume.projected === undefined) return undefined;
  const { defaultMode } = volume.projected;
  for (const source of volume.projected.sources ?? []) {
    const { serviceAccountToken, configMap, secret, downwardAPI } = source;
    if (serviceAccountToken !== undefined) {
      const { path, audience, expirationSeconds } = serviceAccountToken;
      add(files, path, Buffer.from(sources.token(audience, expirationSeconds)), defaultMode ?? modeDefault);
    }
    if (configMap !== undefined) {
      const { name, items, optional } = configMap;
      addObject(files, 'configmap', name, bytesOf(sources.configMap(name)), { items, optional, defaultMode });
    }
    if (secret !== undefined) {
      const { name, items, optional } = secret;
      addObject(files, 'secret', name, bytesOf(sources.secret(name)), { items, optional, defaultMode });
    }
    if (downwardAPI !== undefined) addFields(files, pod, downwardAPI, defaultMode, sources.nodeAddress);
  }
  return files;
}

function bytesOf(object: ConfigMap | Secret | undefined): Map<string, Buffer> | undefined {
  if (object === undefined) return undefined;
  const plain = object.kind === 'ConfigMap' ? (object as ConfigMap).data : {};
  const encoded = object.kind === 'ConfigMap' ? (object as ConfigMap).binaryData : (object as Secret).data;
  return new Map([
    ...Object.entries(plain ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(encoded ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}

function addObject(
  files: VolumeFiles,
  kind: 'configmap' | 'secret',
  name: string,
  data: ReadonlyMap<string, Buffer> | undefined,
  how: {
    items: readonly KeyToPath[] | undefined;
    optional: boolean | undefined;
    defaultMode: number | undefined;
  },
): void {
  if (data === undefined) {
    if (how.optional === true) return;
    throw new ConfigError(`${kind} "${name}" not found`);
  }
  const items: readonly KeyToPath[] = how.items ?? [...data.keys()].map((key) => ({ key, path: key }));
  for (const { key, path, mode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) add(files, path, bytes, mode ?? how.defaultMode ?? modeDefault);
    else if (how.optional !== true) {
      throw new ConfigError(`${kind} "${name}" references non-existent config key: ${key}`);
    }
  }
}

function addFields(
  files: VolumeFiles,
  pod: Pod,
  source: { items?: { path: string; fieldRef?: { fieldPath: string } }[] },
  defaultMode: number | undefined,
  nodeAddress: string,
): void {
  for (const { path, fieldRef } of source.items ?? []) {
    if (fieldRef === undefined)
      throw new ConfigError(`downward API item ${path}: only fieldRef is supported`);
    add(files, path, Buffer.from(fieldOf(pod, fieldRef.fieldPath, nodeAddress)), defaultMode ?? modeDefault);
  }
}

function add(files: VolumeFiles, path: string, bytes: Buffer, mode: number): void {
  const parts = path.split('/');
  if (path.startsWith('/') || parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw new ConfigError(`the path ${JSON.stringify(path)} leads out of its volume`);
  }
  files.set(path, { bytes, mode: mode & 0o777 });
}
