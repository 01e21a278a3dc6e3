import type { RunnerContainer } from './runner.ts';

/**
 * `root`: chroot, a uid of its own, no capabilities. `user-namespace`: chroot inside a user and a process
 * namespace of an unprivileged user.
 */
export type SandboxMode = 'root' | 'user-namespace';

/** Absolute paths of the host's own programs: the PATH of a container must not choose them. */
export interface SandboxTools {
  readonly prlimit: string;
  readonly setpriv: string;
  readonly nsenter: string;
  readonly unshare: string;
}

export interface SandboxOptions {
  readonly dir: string;
  readonly mode: SandboxMode;
  readonly tools: SandboxTools;
  /** Hard limit of open files of this process. */
  readonly openFilesMax: number;
}

/** Everything that the supervisor of one container needs to start it; `launch.json`. */
export interface Launch {
  readonly container: Omit<RunnerContainer, 'state'>;
  readonly mode: SandboxMode;
  readonly tools: SandboxTools;
  readonly rootfs: string;
  /** Absolute on the host, inside `rootfs`. */
  readonly workingDir: string;
  /** As the container sees it. */
  readonly workingDirInside: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** uid that the container sees in a user namespace. */
  readonly user: number;
  readonly logBytesMax: number;
  readonly memoryBytes?: number;
  /** Trees that belong to the container's uid, and trees that its group may read. */
  readonly owned: readonly string[];
  readonly readable: readonly string[];
  /** Shared volumes that were moved into the root: moved back when it has ended. */
  readonly placed: readonly { volume: string; source: string; target: string; inode: number }[];
  /** Copies of volumes that the kubelet writes. */
  readonly copied: readonly { volume: string; source: string; target: string; inode: number }[];
  readonly terminationFile: string;
  /** `open files` of this host: soft and hard. */
  readonly openFilesMax: number;
}

/** What the supervisor writes once the container runs; `state.json`. */
export interface Running {
  /** The supervisor; alive as long as the start time matches. */
  readonly supervisor: number;
  readonly supervisorStart: string;
  readonly pid: number;
  readonly pidStart: string;
  /** uid on the host. */
  readonly uid: number;
  readonly startedAt: number;
}

export type Exited = Extract<RunnerContainer['state'], { phase: 'exited' }>;

/** A uid for one container each: below 65536, for no more are mapped in a container of an unprivileged user. */
export const uidFirst = 20_000;
export const uidLast = 59_999;

const processesMax = 1000;
const openFilesSoft = 1024;

/**
 * Names that the loader or the C library of the host's own programs obey (glibc, elf/unsecvars.h): they would
 * act before the container is confined.
 */
const loaderVariables = new Set([
  'GCONV_PATH',
  'GETCONF_DIR',
  'GLIBC_TUNABLES',
  'HOSTALIASES',
  'LOCALDOMAIN',
  'LOCPATH',
  'MALLOC_TRACE',
  'NIS_PATH',
  'NLSPATH',
  'RESOLV_HOST_CONF',
  'RES_OPTIONS',
  'TMPDIR',
  'TZDIR',
]);

/** Whether a variable must not reach the programs that confine a container. */
export function isLoaderVariable(name: string): boolean {
  return name.startsWith('LD_') || loaderVariables.has(name);
}

/**
 * The command that confines and becomes the container: limits, then no new privileges, then the new root and uid.
 * @param argv what runs inside.
 */
export function confine(
  launch: Pick<
    Launch,
    'mode' | 'tools' | 'rootfs' | 'workingDir' | 'workingDirInside' | 'user' | 'openFilesMax'
  >,
  uid: number,
  argv: readonly string[],
): string[] {
  const { tools } = launch;
  const limits = [
    tools.prlimit,
    `--nofile=${Math.min(openFilesSoft, launch.openFilesMax)}:${Math.min(20_000, launch.openFilesMax)}`,
    '--core=0',
  ];
  if (launch.mode === 'root') {
    // setpriv keeps what chroot and the change of uid need; the change itself then drops all of it.
    return [
      ...limits,
      `--nproc=${processesMax}:${processesMax}`,
      tools.setpriv,
      '--no-new-privs',
      '--bounding-set=-all,+sys_chroot,+setuid,+setgid',
      '--inh-caps=-all',
      tools.nsenter,
      `--root=${launch.rootfs}`,
      `--wd=${launch.workingDir}`,
      '--setuid',
      String(uid),
      '--setgid',
      String(uid),
      '--',
      ...argv,
    ];
  }
  // No limit of processes: it would count all that this user runs.
  return [
    ...limits,
    tools.setpriv,
    '--no-new-privs',
    tools.unshare,
    '--user',
    `--map-user=${launch.user}`,
    `--map-group=${launch.user}`,
    '--ipc',
    '--pid',
    '--fork',
    '--kill-child=SIGKILL',
    `--root=${launch.rootfs}`,
    `--wd=${launch.workingDirInside}`,
    '--',
    ...argv,
  ];
}

/** What a mode shares with the host, in words for people. */
export function notIsolated(mode: SandboxMode): string[] {
  const both = [
    'network: containers use the network of the host',
    'memory: watched and ended above the limit, not reserved',
    'processor: limits are not applied',
    'system calls: not filtered',
  ];
  return mode === 'root'
    ? [
        'users: each container has a uid of its own instead of the one it asks for',
        'processes and IPC: in the namespaces of the host',
        ...both,
      ]
    : [
        'users: every container runs as the user who started Sluice',
        'files: what is read-only is so by permission bits, which the container may change',
        'processes: not limited in number',
        ...both,
      ];
}
