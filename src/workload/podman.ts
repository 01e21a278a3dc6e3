import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';
import { type RunResult, run } from '../process/run.ts';
import { mountsBelow } from './mounts.ts';

/** What a host's podman needs to be told; found by running a container (probe.ts). */
export interface PodmanFlags {
  /** Before the subcommand: `--runtime runc`. */
  readonly global: readonly string[];
  /** Of `podman run` and `create`. */
  readonly create: readonly string[];
  readonly storageDriver: 'overlay' | 'vfs';
}

/** A podman with a storage, locks and configuration of its own below one directory. */
export interface Podman {
  readonly dir: string;
  /** What lasts only until a boot; elsewhere than `dir`, since podman takes no more than 50 characters here. */
  readonly runtimeDir: string;
  /** Runs a subcommand; never throws for an exit code. */
  run(args: readonly string[], options?: PodmanRunOptions): Promise<RunResult>;
  /** Errors: CommandFailed with the last line that podman wrote. */
  check(args: readonly string[], options?: PodmanRunOptions): Promise<string>;
  /** conmon writes a file here as a container ends. */
  readonly exitsDir: string;
  readonly policyFile: string;
  readonly createFlags: readonly string[];
  /** Unmounts what is left and removes `runtimeDir`, once nothing runs: as after a boot. */
  settle(): Promise<void>;
}

export interface PodmanRunOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Its locks are files of its own: podman's shared-memory locks belong to the user, whose own podman would
 * then be disturbed. No configuration of the host is read, for what works here is found by trying.
 */
const containersConf = '[engine]\nlock_type = "file"\nevents_logger = "file"\n';
/** Content is pinned by digest and its signature was verified before anything may run. */
const policy = '{"default":[{"type":"insecureAcceptAnything"}]}\n';
const outputBytesMax = 32 * 1024 * 1024;

/** How long processes that clean up after containers may take. */
const settleMs = 10_000;

/** Prepares the directory; starts nothing. */
export async function openPodman(directory: string, flags: PodmanFlags): Promise<Podman> {
  const dir = resolve(directory);
  const runtimeDir = runtimeDirOf(dir);
  const files = {
    'containers.conf': containersConf,
    'storage.conf': [
      '[storage]',
      `driver = ${JSON.stringify(flags.storageDriver)}`,
      `graphroot = ${JSON.stringify(join(dir, 'root'))}`,
      `runroot = ${JSON.stringify(join(runtimeDir, 'run'))}`,
      '',
    ].join('\n'),
    'registries.conf': 'unqualified-search-registries = []\n',
    'policy.json': policy,
    'mounts.conf': '',
  };
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(files)) await writeWhereDifferent(join(dir, name), text);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    CONTAINERS_CONF: join(dir, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(dir, 'storage.conf'),
    CONTAINERS_REGISTRIES_CONF: join(dir, 'registries.conf'),
  };
  for (const name of ['CONTAINER_HOST', 'CONTAINER_CONNECTION', 'CONTAINERS_CONF_OVERRIDE', 'STORAGE_OPTS']) {
    delete env[name];
  }
  const global = [
    '--root',
    join(dir, 'root'),
    '--runroot',
    join(runtimeDir, 'run'),
    '--tmpdir',
    join(runtimeDir, 'tmp'),
    '--storage-driver',
    flags.storageDriver,
    ...flags.global,
  ];
  const runPodman = (args: readonly string[], options: PodmanRunOptions = {}) =>
    // conmon leaves a file `oom` where it was started, when the kernel ends a container for its memory.
    run('podman', [...global, ...args], { cwd: dir, env, outputBytesMax, ...options });
  return {
    dir,
    runtimeDir,
    exitsDir: join(runtimeDir, 'tmp', 'exits'),
    policyFile: join(dir, 'policy.json'),
    createFlags: flags.create,
    run: runPodman,
    async check(args, options) {
      const result = await runPodman(args, options);
      if (result.code === 0) return result.stdout;
      throw new SluiceError('CommandFailed', `podman ${args[0]}: ${podmanSays(result)}`);
    },
    async settle() {
      // conmon and the podman that it calls would make the directory again.
      for (const end = Date.now() + settleMs; Date.now() < end && (await isMentioned(runtimeDir)); ) {
        await new Promise((done) => setTimeout(done, 20));
      }
      for (const place of [dir, runtimeDir]) {
        for (const path of await mountsBelow(place)) await run('umount', ['--lazy', path]);
      }
      await rm(runtimeDir, { recursive: true, force: true });
    },
  };
}

function runtimeDirOf(dir: string): string {
  const base = process.getuid?.() === 0 ? '/run' : (process.env.XDG_RUNTIME_DIR ?? tmpdir());
  return join(base, `sluice-${createHash('sha256').update(dir).digest('hex').slice(0, 12)}`);
}

/** Whether the command line of a running process names this path. */
async function isMentioned(path: string): Promise<boolean> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const words = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (words.includes(path)) return true;
  }
  return false;
}

/** The sentence that explains a failed podman: its last line, without the word Error. */
export function podmanSays(result: RunResult): string {
  if (result.timedOut) return 'took too long and was ended';
  const lines = result.stderr.trim().split('\n');
  const errors = lines.filter((line) => line.startsWith('Error'));
  return (errors.at(-1) ?? lines.at(-1) ?? '').replace(/^Error:\s*/, '').slice(0, 2000);
}

async function writeWhereDifferent(path: string, text: string): Promise<void> {
  try {
    if ((await readFile(path, 'utf8')) === text) return;
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  await writeFile(path, text);
}
