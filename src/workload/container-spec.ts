import { join } from 'node:path';
import type { Container, Pod } from '../api/core.ts';
import { parseQuantity } from '../cluster/quantity.ts';
import { ConfigError, expand, type Variable } from './environment.ts';
import type { ContainerMount, ContainerSpec, ImageInfo } from './runner.ts';

const terminationPathDefault = '/dev/termination-log';
const logBytesMax = 10 * 1024 * 1024;

export interface SpecInputs {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly image: ImageInfo;
  readonly env: readonly Variable[];
  /** The directory of one of the Pod's volumes. */
  volumeDirectory(volume: string): string;
  readonly logPath: string;
}

/** What a runner is told to run. Errors: ConfigError, in the words of a kubelet. */
export function containerSpec(inputs: SpecInputs): ContainerSpec {
  const { pod, container, image, env } = inputs;
  const security = container.securityContext ?? {};
  const forPod = pod.spec.securityContext ?? {};
  const user = security.runAsUser ?? forPod.runAsUser;
  const group = security.runAsGroup ?? forPod.runAsGroup;
  if (security.runAsNonRoot ?? forPod.runAsNonRoot ?? false) checkNonRoot(pod, container, image, user);
  const known = new Map(env.map(({ name, value }) => [name, value]));
  const words = (list: readonly string[] = []) => list.map((text) => expand(text, known));
  const command = words(container.command);
  const args = words(container.args);
  const argv =
    command.length > 0
      ? [...command, ...args]
      : [...image.entrypoint, ...(args.length > 0 ? args : image.cmd)];
  if (argv.length === 0) throw new ConfigError('no command specified');
  const limits = container.resources?.limits ?? {};
  const memory = parseQuantity(limits.memory ?? '');
  const cpu = parseQuantity(limits.cpu ?? '');
  return {
    podUid: pod.metadata.uid ?? '',
    podName: pod.metadata.name,
    podNamespace: pod.metadata.namespace ?? '',
    container: container.name,
    attempt: inputs.attempt,
    image: image.digest,
    argv,
    env,
    workingDir: container.workingDir ?? image.workingDir,
    ...(user === undefined ? {} : { user }),
    ...(group === undefined ? {} : { group }),
    readOnlyRoot: security.readOnlyRootFilesystem ?? false,
    noNewPrivileges: security.allowPrivilegeEscalation === false,
    capabilities: { add: security.capabilities?.add ?? [], drop: security.capabilities?.drop ?? [] },
    ...(memory === undefined ? {} : { memoryBytes: Math.ceil(memory) }),
    ...(cpu === undefined ? {} : { cpuMillis: Math.ceil(cpu * 1000) }),
    mounts: mountsOf(inputs),
    terminationPath: container.terminationMessagePath ?? terminationPathDefault,
    logPath: inputs.logPath,
    logBytesMax,
  };
}

function mountsOf({ pod, container, volumeDirectory }: SpecInputs): ContainerMount[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const volume = pod.spec.volumes?.find(({ name }) => name === mount.name);
    if (volume === undefined) throw new ConfigError(`cannot find volume "${mount.name}" to mount`);
    const more = mount as typeof mount & { subPathExpr?: string };
    if (more.subPathExpr !== undefined) throw new ConfigError('subPathExpr is not in the scope of this node');
    const subPath = mount.subPath ?? '';
    if (subPath.startsWith('/') || subPath.split('/').includes('..')) {
      throw new ConfigError(`subPath ${JSON.stringify(subPath)} leads out of its volume`);
    }
    const shared = volume.emptyDir !== undefined;
    // Another container could make the path a link that leads out between the look and the mount.
    if (shared && subPath !== '')
      throw new ConfigError('subPath of an emptyDir is not in the scope of this node');
    return {
      volume: mount.name,
      source: volumeDirectory(mount.name),
      subPath,
      target: join('/', mount.mountPath),
      shared,
      readOnly: !shared || mount.readOnly === true,
    };
  });
}

function checkNonRoot(pod: Pod, container: Container, image: ImageInfo, user: number | undefined): void {
  const { name, namespace, uid } = pod.metadata;
  const where = `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`;
  if (user !== undefined) {
    if (user === 0) throw new ConfigError(`container's runAsUser breaks non-root policy ${where}`);
    return;
  }
  const [own = ''] = image.user.split(':');
  if (own === '' || own === '0' || own === 'root') {
    throw new ConfigError(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (!/^\d+$/.test(own)) {
    throw new ConfigError(
      `container has runAsNonRoot and image has non-numeric user (${own}), cannot verify user is non-root ${where}`,
    );
  }
}
