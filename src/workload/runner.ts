import type { Digest } from '../oci/digest.ts';

/** Where one copy of an image can be pulled from: never by tag. */
export interface ImageLocation {
  /** `host:port` of a registry that is dialled over TLS. */
  readonly host: string;
  readonly repository: string;
  readonly digest: Digest;
}

/** Whom the pull believes and how it proves itself. */
export interface RegistryTrust {
  /** PEM of the authorities of the registry's certificate; the system's where absent. */
  readonly caPem?: string;
  readonly auth?: { readonly username: string; readonly password: string };
}

/** What the configuration of an image says about its containers. */
export interface ImageInfo {
  /** The digest that was asked for: what `start` takes. */
  readonly digest: Digest;
  /** `USER` of the image: '', a uid, a name, each with an optional `:group`. */
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly workingDir: string;
}

/** One directory that the kubelet made for a Pod, as a container sees it. */
export interface ContainerMount {
  readonly volume: string;
  /** The volume's own directory on the host. */
  readonly source: string;
  /** Relative path within the volume; '' for the whole. */
  readonly subPath: string;
  /** Absolute path in the container. */
  readonly target: string;
  /** Containers of the Pod may write into it, and see what the others wrote (emptyDir). */
  readonly shared: boolean;
  readonly readOnly: boolean;
}

export interface ContainerSpec {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly container: string;
  /** 0 for the first start of this container, one more at each restart. */
  readonly attempt: number;
  readonly image: Digest;
  /** The whole argument vector, entrypoint included. */
  readonly argv: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** '' for the image's own. */
  readonly workingDir: string;
  /** uid to run as; undefined for the image's own user. */
  readonly user?: number;
  readonly group?: number;
  readonly readOnlyRoot: boolean;
  /** `allowPrivilegeEscalation: false`. */
  readonly noNewPrivileges: boolean;
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly memoryBytes?: number;
  readonly cpuMillis?: number;
  readonly mounts: readonly ContainerMount[];
  /** Absolute path in the container of the file for its last words. */
  readonly terminationPath: string;
  /** File for stdout and stderr in the format of the CRI (logs.ts). */
  readonly logPath: string;
  readonly logBytesMax: number;
}

/** One container that the runner knows, whether it runs or has ended. */
export interface RunnerContainer {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly container: string;
  readonly attempt: number;
  readonly image: Digest;
  readonly logPath: string;
  readonly state:
    | { readonly phase: 'running'; readonly startedAt: number }
    | {
        readonly phase: 'exited';
        /** Unix milliseconds. */
        readonly startedAt: number;
        readonly finishedAt: number;
        readonly exitCode: number;
        readonly oomKilled: boolean;
        /** What the runner itself has to say: the program was not found, its supervisor was killed. */
        readonly error?: string;
      };
}

export type RunnerName = 'podman' | 'sandbox';

/**
 * What the kubelet needs of whatever runs containers. Level-based: `list` is the truth, and it survives the
 * kubelet. `suite.ts` holds what each runner must do.
 */
export interface Runner {
  readonly name: RunnerName;
  /** What containers share with the host and with each other, in words for people; empty for nothing notable. */
  readonly notIsolated: readonly string[];
  /** What is known of an image that is already here; undefined where it must be pulled. */
  image(digest: Digest): Promise<ImageInfo | undefined>;
  /** Errors: Unreachable, NotFound, Unauthorized, DigestMismatch, DiskFull, CommandFailed. */
  pull(location: ImageLocation, trust: RegistryTrust, signal?: AbortSignal): Promise<ImageInfo>;
  /** Starts a container and resolves to its id. Errors: CommandFailed, InputInvalid (cannot be run so). */
  start(spec: ContainerSpec): Promise<string>;
  list(): Promise<RunnerContainer[]>;
  /** SIGTERM, after `graceMs` SIGKILL; resolves when it has ended. Unknown ids are no error. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Removes an ended container and what it wrote outside its volumes and its log. */
  remove(id: string): Promise<void>;
  /** The last words of an ended container, at most `bytesMax` bytes; '' where it left none. */
  terminationMessage(id: string, bytesMax: number): Promise<string>;
  /** Runs a command in a running container. `code` is null where it took longer than `timeoutMs`. */
  exec(
    id: string,
    argv: readonly string[],
    timeoutMs: number,
  ): Promise<{ code: number | null; output: string }>;
  /** The kubelet has rewritten the files of a volume (never a shared one): running containers see the new ones. */
  refreshVolume(podUid: string, volume: string): Promise<void>;
  /** Calls `listener` soon after a container has ended; a hint, never the only way to learn it. */
  onChange(listener: () => void): () => void;
  /** Ends every container within `graceMs` (their records stay) and leaves nothing mounted: a reboot. */
  endAll(graceMs: number): Promise<void>;
  /** Stops watching; containers go on. */
  close(): Promise<void>;
}
