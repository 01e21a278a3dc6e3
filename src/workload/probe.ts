import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { readJson, writeJson } from '../durable/file.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { run, runOrThrow } from '../process/run.ts';
import { openPodman, type Podman, type PodmanFlags, podmanSays } from './podman.ts';
import { openPodmanRunner, podmanNotIsolated } from './podman-runner.ts';
import type { Runner, RunnerName } from './runner.ts';
import { openSandboxRunner } from './sandbox.ts';
import { confine, notIsolated, type SandboxMode, type SandboxTools, uidLast } from './sandbox-launch.ts';

/** What a host can run, found by running a container. */
export type RunnerProbe =
  | { readonly runner: 'podman'; readonly flags: PodmanFlags }
  | {
      readonly runner: 'sandbox';
      readonly mode: SandboxMode;
      readonly tools: SandboxTools;
      readonly openFilesMax: number;
      /** Why it is not podman. */
      readonly reason: string;
    }
  | { readonly none: string };

/**
 * Ways to call podman, plain first. The others are for hosts where its own choice fails: a runtime that refuses
 * hybrid cgroups, limits above what this process may set, a file system that overlays nothing.
 */
const runtimes = [[], ['--runtime', 'runc'], ['--runtime', 'crun']];
const limits = [[], ['--ulimit', 'nofile=1024:20000', '--ulimit', 'nproc=1000:1000']];
const storageDrivers = ['overlay', 'vfs'] as const;
const attemptMs = 30_000;
const rememberedName = 'probe.json';

/**
 * Finds by running a container what this host can do, and remembers it below `dir` until the next boot.
 * @param only tries nothing but this runner.
 */
export async function probeRunner(dir: string, only?: RunnerName): Promise<RunnerProbe> {
  await mkdir(dir, { recursive: true });
  const remembered = await readJson<{ of: string; only?: RunnerName; probe: RunnerProbe }>(
    join(dir, rememberedName),
  ).catch(() => undefined);
  const of = await hostNow();
  if (remembered !== undefined && remembered.of === of && remembered.only === only) return remembered.probe;
  const probe = await probeNow(dir, only);
  if (!('none' in probe)) await writeJson(join(dir, rememberedName), { of, only, probe });
  return probe;
}

/** What containers of the runner that was found share with the host, in words for people. */
export function notIsolatedBy(probe: RunnerProbe): readonly string[] {
  if ('none' in probe) return [];
  return probe.runner === 'podman' ? podmanNotIsolated : notIsolated(probe.mode);
}

/** Opens the runner that was found. Errors: CannotIsolate where there is none. */
export async function openRunner(dir: string, probe: RunnerProbe): Promise<Runner> {
  if ('none' in probe) throw new SluiceError('CannotIsolate', probe.none);
  if (probe.runner === 'podman') {
    // A storage is bound to its driver for ever.
    return await openPodmanRunner(join(dir, `podman-${probe.flags.storageDriver}`), probe.flags);
  }
  return await openSandboxRunner({ dir: join(dir, 'sandbox'), ...probe });
}

/**
 * Ends every container that any runner has left below `dir`, and leaves nothing mounted: for a node that was killed.
 * Nothing is probed, so that it works where containers cannot run any more.
 */
export async function endContainers(dir: string, graceMs: number): Promise<void> {
  const remembered = await readJson<{ probe: RunnerProbe }>(join(dir, rememberedName)).catch(() => undefined);
  const known = remembered?.probe;
  for (const storageDriver of storageDrivers) {
    const place = join(dir, `podman-${storageDriver}`);
    if (!existsSync(place) || absolute('podman') === undefined) continue;
    const global = known !== undefined && 'flags' in known ? known.flags.global : [];
    const runner = await openPodmanRunner(place, { global, create: [], storageDriver });
    await runner.endAll(graceMs);
    await runner.close();
  }
  const place = join(dir, 'sandbox');
  if (!existsSync(place)) return;
  const tools = { prlimit: '', setpriv: '', nsenter: '', unshare: '' };
  const runner = await openSandboxRunner({ dir: place, mode: 'root', tools, openFilesMax: 0 });
  await runner.endAll(graceMs);
  await runner.close();
}

async function probeNow(dir: string, only: RunnerName | undefined): Promise<RunnerProbe> {
  const podman = only === 'sandbox' ? { reason: 'the sandbox was asked for' } : await probePodman(dir);
  if ('flags' in podman) return { runner: 'podman', flags: podman.flags };
  if (only === 'podman') return { none: `podman cannot run a container: ${podman.reason}` };
  const sandbox = await probeSandbox(dir);
  if (typeof sandbox === 'string') return { none: `${podman.reason}; no sandbox either: ${sandbox}` };
  return { runner: 'sandbox', ...sandbox, reason: podman.reason };
}

async function hostNow(): Promise<string> {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const version = await run('podman', ['--version'], { timeoutMs: attemptMs }).catch(() => undefined);
  return `${boot} uid ${process.getuid?.()} ${version?.stdout.trim() ?? 'no podman'}`;
}

async function probePodman(dir: string): Promise<{ flags: PodmanFlags } | { reason: string }> {
  if (absolute('podman') === undefined) return { reason: 'podman is not installed' };
  const place = join(dir, 'podman-probe');
  let reason = '';
  try {
    const archive = await tinyImage(place);
    for (const storageDriver of storageDrivers) {
      for (const global of runtimes) {
        if (global[1] !== undefined && absolute(global[1]) === undefined) continue;
        for (const create of limits) {
          const flags = { global, create, storageDriver };
          const podman = await openPodman(join(place, storageDriver), flags);
          const said = await tryPodman(podman, flags, archive);
          await podman.settle();
          if (said === undefined) return { flags };
          reason = said;
        }
      }
    }
    return { reason };
  } catch (error) {
    return { reason: messageOf(error) };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Undefined where a container ran; else what podman said. */
async function tryPodman(podman: Podman, flags: PodmanFlags, archive: string): Promise<string | undefined> {
  const present = await podman.run(['image', 'exists', 'localhost/probe:1'], { timeoutMs: attemptMs });
  if (present.code !== 0) {
    const imported = await podman.run(['import', '--quiet', archive, 'localhost/probe:1'], {
      timeoutMs: attemptMs,
    });
    if (imported.code !== 0) return podmanSays(imported);
  }
  const mounts = hostPrograms().flatMap((path) => ['--volume', `${path}:${path}:ro`]);
  const result = await podman.run(
    ['run', '--rm', ...flags.create, '--network', 'host', ...mounts, 'localhost/probe:1', ...probeProgram()],
    { timeoutMs: attemptMs },
  );
  return result.code === 0 ? undefined : podmanSays(result);
}

/** An image archive with busybox in it where this host has a static one. */
async function tinyImage(place: string): Promise<string> {
  const root = join(place, 'root');
  await mkdir(join(root, 'tmp'), { recursive: true });
  if (existsSync('/bin/busybox')) {
    await copyFile('/bin/busybox', join(root, 'busybox'));
    await chmod(join(root, 'busybox'), 0o755);
  }
  const archive = join(place, 'probe.tar');
  await runOrThrow('tar', ['-C', root, '-cf', archive, '.']);
  return archive;
}

/** Without busybox the host's own programs serve, seen through mounts. */
function hostPrograms(): string[] {
  if (existsSync('/bin/busybox')) return [];
  return ['/usr', '/lib', '/lib64', '/bin'].filter((path) => existsSync(path));
}

function probeProgram(): string[] {
  return existsSync('/bin/busybox') ? ['/busybox', 'true'] : ['/usr/bin/true'];
}

async function probeSandbox(
  dir: string,
): Promise<{ mode: SandboxMode; tools: SandboxTools; openFilesMax: number } | string> {
  const tools: Partial<Record<keyof SandboxTools, string>> = {};
  for (const name of ['prlimit', 'setpriv', 'nsenter', 'unshare'] as const) {
    const path = absolute(name);
    if (path === undefined) return `${name} (util-linux) is not installed`;
    tools[name] = path;
  }
  const found = tools as SandboxTools;
  const openFilesMax = openFilesHardLimit();
  const place = join(dir, 'sandbox-probe');
  const reasons: string[] = [];
  try {
    await tinyImage(place);
    const withBusybox = existsSync('/bin/busybox');
    const rootfs = withBusybox ? join(place, 'root') : '/';
    const modes: SandboxMode[] = process.getuid?.() === 0 ? ['root', 'user-namespace'] : ['user-namespace'];
    for (const mode of modes) {
      const confined = {
        mode,
        tools: found,
        rootfs,
        workingDir: rootfs,
        workingDirInside: '/',
        user: 10_001,
        openFilesMax,
      };
      const [command = '', ...args] = confine(confined, uidLast, probeProgram());
      const result = await run(command, args, { timeoutMs: attemptMs, env: {} });
      if (result.code === 0) return { mode, tools: found, openFilesMax };
      reasons.push(`${mode}: ${result.stderr.trim().split('\n').at(-1) ?? `exit code ${result.code}`}`);
    }
    return reasons.join('; ');
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** setrlimit(2) lets an unprivileged process only lower it. */
function openFilesHardLimit(): number {
  const line = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return line === undefined || line === 'unlimited' ? 1_048_576 : Number(line);
}

function absolute(program: string): string | undefined {
  const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin:/sbin:/usr/bin:/bin`;
  return path
    .split(delimiter)
    .map((directory) => join(directory, program))
    .find((candidate) => {
      try {
        accessSync(candidate, constants.X_OK);
        return candidate.startsWith('/');
      } catch {
        return false;
      }
    });
}
