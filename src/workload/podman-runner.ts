import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorCode, messageOf, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { isDigest } from '../oci/digest.ts';
import { run } from '../process/run.ts';
import { watchExits } from './exit-watch.ts';
import { openPodman, type Podman, type PodmanFlags, podmanSays } from './podman.ts';
import { forgetEnvironments, placeEnvironment } from './podman-environment.ts';
import type { ContainerSpec, ImageInfo, Runner, RunnerContainer } from './runner.ts';
import { readHead } from './safe-file.ts';

/** A pull moves gigabytes at most through loopback or a local network; a stuck one must still end. */
const pullTimeoutMs = 30 * 60_000;
const startTimeoutMs = 120_000;
const label = 'dev.sluice.container';
/** An exit is told by a file of conmon, a moment before podman's own record knows it. */
const exitSettleMs = 20;

interface Labelled {
  podUid: string;
  podName: string;
  podNamespace: string;
  container: string;
  attempt: number;
  image: Digest;
  logPath: string;
}

interface PsRow {
  Id: string;
  State: string;
  Labels: Record<string, string> | null;
  StartedAt: number;
}

interface InspectState {
  OOMKilled: boolean;
  ExitCode: number;
  Error: string;
  StartedAt: string;
  FinishedAt: string;
}

/** What `runArguments` shares with the host, in words for people. */
export const podmanNotIsolated: readonly string[] = [
  'network: containers use the network of the host',
  'files: no SELinux label of its own for each container',
];

/** Runs containers with podman. Its files, locks, containers and images are its own, all below `dir`. */
export async function openPodmanRunner(dir: string, flags: PodmanFlags): Promise<Runner> {
  const podman = await openPodman(dir, flags);
  await mkdir(join(dir, 'termination'), { recursive: true, mode: 0o700 });
  const images = new Map<Digest, { id: string; info: ImageInfo }>();
  const ended = new Map<string, RunnerContainer['state']>();
  const watchers = new Set<() => void>();

  await forgetEnvironments(podman);
  // What a crash left between create and start never ran.
  for (const row of await ps(podman)) {
    if (row.State === 'created' || row.State === 'initialized') await podman.run(['rm', '--force', row.Id]);
  }

  async function image(digest: Digest): Promise<ImageInfo | undefined> {
    const known = images.get(digest);
    if (known !== undefined) return known.info;
    const text = await podman.check(['images', '--all', '--no-trunc', '--format', 'json']);
    const rows = JSON.parse(text) as { Id: string; RepoDigests?: string[] | null }[];
    const row = rows.find((candidate) =>
      (candidate.RepoDigests ?? []).some((name) => name.endsWith(`@${digest}`)),
    );
    if (row === undefined) return undefined;
    const [details] = JSON.parse(await podman.check(['image', 'inspect', row.Id])) as InspectedImage[];
    const info = imageInfo(digest, details);
    images.set(digest, { id: row.Id, info });
    return info;
  }

  async function state(rows: PsRow[]): Promise<void> {
    const unknown = rows.filter((row) => row.State !== 'running' && !ended.has(row.Id)).map((row) => row.Id);
    if (unknown.length === 0) return;
    const result = await podman.run(['container', 'inspect', ...unknown]);
    // A container that went away meanwhile makes the exit code 125; what is printed still holds the others.
    const inspected = JSON.parse(result.stdout || '[]') as { Id: string; State: InspectState }[];
    for (const { Id, State } of inspected) {
      const finishedAt = Date.parse(State.FinishedAt);
      ended.set(Id, {
        phase: 'exited',
        // podman notes the start when it has returned, which a short container may end before.
        startedAt: Math.min(Date.parse(State.StartedAt), finishedAt),
        finishedAt,
        exitCode: State.ExitCode,
        oomKilled: State.OOMKilled || (State.ExitCode === 137 && (await kernelKilled(Id))),
        ...(State.Error === '' ? {} : { error: State.Error }),
      });
    }
  }

  const runner: Runner = {
    name: 'podman',
    notIsolated: podmanNotIsolated,
    image,
    async pull(location, trust, signal) {
      const key = createHash('sha256').update(location.host).digest('hex').slice(0, 16);
      const certificates = join(dir, 'certs', key);
      const authFile = join(dir, 'auth', `${key}.json`);
      await mkdir(certificates, { recursive: true });
      await mkdir(join(dir, 'auth'), { recursive: true, mode: 0o700 });
      if (trust.caPem !== undefined) await writeFile(join(certificates, 'ca.crt'), trust.caPem);
      await writeFile(authFile, JSON.stringify(authDocument(location.host, trust.auth)), { mode: 0o600 });
      const name = `${location.host}/${location.repository}@${location.digest}`;
      const result = await podman.run(
        [
          'pull',
          '--quiet',
          '--signature-policy',
          podman.policyFile,
          '--tls-verify=true',
          ...(trust.caPem === undefined ? [] : ['--cert-dir', certificates]),
          '--authfile',
          authFile,
          name,
        ],
        { timeoutMs: pullTimeoutMs, ...(signal === undefined ? {} : { signal }) },
      );
      if (result.code !== 0) throw pullError(name, podmanSays(result));
      const info = await image(location.digest);
      if (info === undefined) {
        throw new SluiceError('DigestMismatch', `${name} was pulled, but no image of that digest is here`);
      }
      return info;
    },
    async start(spec) {
      const known = images.get(spec.image) ?? ((await image(spec.image)) && images.get(spec.image));
      if (!known) throw new SluiceError('NotFound', `the image ${spec.image} is not on this node`);
      await mkdir(join(spec.logPath, '..'), { recursive: true });
      const lastWords = terminationFile(dir, spec);
      await writeFile(lastWords, '', { mode: 0o666 });
      await chmod(lastWords, 0o666);
      const name = containerName(spec);
      const environment = await placeEnvironment(podman, name, spec.env);
      const args = runArguments(
        spec,
        known.id,
        { name, lastWords, environment: environment.flags },
        podman.createFlags,
      );
      const result = await podman
        .run(args, { timeoutMs: startTimeoutMs })
        .finally(() => environment.remove());
      if (result.code === 0) return result.stdout.trim();
      await podman.run(['rm', '--force', '--ignore', name]);
      // podman-run(1), "Exit Status": 126 and 127 are the container's own, 125 is podman's.
      const own = result.code === 126 || result.code === 127;
      throw new SluiceError(own ? 'InputInvalid' : 'CommandFailed', podmanSays(result));
    },
    async list() {
      const rows = await ps(podman);
      const alive = new Set(rows.map((row) => row.Id));
      for (const id of ended.keys()) if (!alive.has(id)) ended.delete(id);
      const shown = rows.filter((row) => row.State !== 'created' && row.State !== 'initialized');
      await state(shown.filter((row) => !isRunning(row)));
      return shown.flatMap((row) => {
        const labelled = readLabel(row);
        const now: RunnerContainer['state'] | undefined = isRunning(row)
          ? { phase: 'running', startedAt: row.StartedAt * 1000 }
          : ended.get(row.Id);
        return labelled === undefined || now === undefined ? [] : [{ id: row.Id, ...labelled, state: now }];
      });
    },
    async stop(id, graceMs) {
      const seconds = Math.max(0, Math.ceil(graceMs / 1000));
      await podman.run(['stop', '--ignore', '--time', String(seconds), id], { timeoutMs: graceMs + 60_000 });
    },
    async remove(id) {
      const row = (await ps(podman)).find((candidate) => candidate.Id === id);
      await podman.run(['rm', '--force', '--ignore', '--time', '0', id]);
      const labelled = row === undefined ? undefined : readLabel(row);
      if (labelled !== undefined) await rm(terminationFile(dir, labelled), { force: true });
    },
    async terminationMessage(id, bytesMax) {
      const row = (await ps(podman)).find((candidate) => candidate.Id === id);
      const labelled = row === undefined ? undefined : readLabel(row);
      return labelled === undefined ? '' : await readHead(terminationFile(dir, labelled), bytesMax);
    },
    async exec(id, argv, timeoutMs) {
      const result = await podman.run(['exec', id, ...argv], { timeoutMs });
      return { code: result.timedOut ? null : result.code, output: `${result.stdout}${result.stderr}` };
    },
    async refreshVolume() {}, // Containers see the very directory.
    onChange(listener) {
      mkdirSync(podman.exitsDir, { recursive: true, mode: 0o700 });
      const end = watchExits(podman.exitsDir, () => void setTimeout(listener, exitSettleMs).unref());
      const close = () => {
        end();
        watchers.delete(close);
      };
      watchers.add(close);
      return close;
    },
    async endAll(graceMs) {
      const running = (await ps(podman)).filter(isRunning).map((row) => row.Id);
      if (running.length > 0) {
        const seconds = String(Math.max(0, Math.ceil(graceMs / 1000)));
        await podman.run(['stop', '--ignore', '--time', seconds, ...running], {
          timeoutMs: graceMs + 60_000,
        });
      }
      for (const close of [...watchers]) close();
      await podman.settle();
    },
    async close() {
      for (const close of [...watchers]) close();
    },
  };
  return runner;
}

async function ps(podman: Podman): Promise<PsRow[]> {
  const text = await podman.check([
    'ps',
    '--all',
    '--no-trunc',
    '--format',
    'json',
    '--filter',
    `label=${label}`,
  ]);
  return JSON.parse(text || '[]') as PsRow[];
}

function isRunning(row: PsRow): boolean {
  return row.State === 'running' || row.State === 'stopping' || row.State === 'paused';
}

function readLabel(row: PsRow): Labelled | undefined {
  const text = row.Labels?.[label];
  return text === undefined ? undefined : (JSON.parse(text) as Labelled);
}

function containerName(spec: Pick<ContainerSpec, 'podUid' | 'container' | 'attempt'>): string {
  return `sluice-${spec.podUid}-${spec.container}-${spec.attempt}`;
}

function terminationFile(dir: string, spec: Pick<ContainerSpec, 'podUid' | 'container' | 'attempt'>): string {
  return join(dir, 'termination', containerName(spec));
}

/** The command line of `podman run` for a container, as a function of what is wanted. */
export function runArguments(
  spec: ContainerSpec,
  imageId: string,
  given: { name: string; lastWords: string; environment: readonly string[] },
  hostFlags: readonly string[],
): string[] {
  const labelled: Labelled = {
    podUid: spec.podUid,
    podName: spec.podName,
    podNamespace: spec.podNamespace,
    container: spec.container,
    attempt: spec.attempt,
    image: spec.image,
    logPath: spec.logPath,
  };
  const { name, lastWords, environment } = given;
  const [program, ...rest] = spec.argv;
  const args = ['run', '--detach', '--pull=never', '--name', name, '--label'];
  args.push(`${label}=${JSON.stringify(labelled)}`, ...hostFlags, '--network', 'host');
  args.push('--http-proxy=false', '--systemd=false', '--sdnotify=ignore', '--restart=no');
  args.push('--security-opt', 'label=disable');
  if (spec.noNewPrivileges) args.push('--security-opt', 'no-new-privileges');
  for (const capability of spec.capabilities.drop) args.push('--cap-drop', capability);
  for (const capability of spec.capabilities.add) args.push('--cap-add', capability);
  if (spec.readOnlyRoot) args.push('--read-only', '--read-only-tmpfs=false');
  const user = spec.user ?? (spec.group === undefined ? undefined : 0);
  if (user !== undefined) args.push('--user', `${user}:${spec.group ?? 0}`);
  if (spec.memoryBytes !== undefined) args.push('--memory', `${spec.memoryBytes}b`);
  if (spec.cpuMillis !== undefined) args.push('--cpus', String(Math.max(10, spec.cpuMillis) / 1000));
  if (spec.workingDir !== '') args.push('--workdir', spec.workingDir);
  args.push(...environment);
  for (const mount of spec.mounts) {
    const source = mount.subPath === '' ? mount.source : join(mount.source, mount.subPath);
    args.push('--volume', `${source}:${mount.target}:${mount.readOnly ? 'ro' : 'rw'}`);
  }
  args.push('--volume', `${lastWords}:${spec.terminationPath}:rw`);
  args.push('--log-driver', 'k8s-file', '--log-opt', `path=${spec.logPath}`);
  args.push('--log-opt', `max-size=${spec.logBytesMax}`);
  args.push('--entrypoint', JSON.stringify(program === undefined ? [] : [program]), imageId, ...rest);
  return args;
}

interface InspectedImage {
  Config?: {
    User?: string;
    Entrypoint?: string[] | null;
    Cmd?: string[] | null;
    Env?: string[] | null;
    WorkingDir?: string;
  } | null;
}

function imageInfo(digest: Digest, details: InspectedImage | undefined): ImageInfo {
  const config = details?.Config;
  return {
    digest,
    user: config?.User ?? '',
    entrypoint: config?.Entrypoint ?? [],
    cmd: config?.Cmd ?? [],
    env: config?.Env ?? [],
    workingDir: config?.WorkingDir ?? '',
  };
}

function authDocument(host: string, auth: { username: string; password: string } | undefined): object {
  if (auth === undefined) return { auths: {} };
  const basic = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
  return { auths: { [host]: { auth: basic } } };
}

/** What podman's words about a failed pull mean; the words themselves stay in the message. */
export function pullError(name: string, said: string): SluiceError {
  const kinds: [RegExp, ErrorCode][] = [
    [/no space left/i, 'DiskFull'],
    [/unauthorized|authentication required|invalid username\/password|\b401\b/i, 'Unauthorized'],
    [/\b403\b|denied/i, 'Forbidden'],
    [/manifest unknown|name unknown|not found|\b404\b/i, 'NotFound'],
    [/digest (did not|does not) match|does not match|digest mismatch/i, 'DigestMismatch'],
    [/connection refused|no route|timed? ?out|took too long|reset by peer|no such host|EOF/i, 'Unreachable'],
  ];
  const code = kinds.find(([pattern]) => pattern.test(said))?.[1] ?? 'CommandFailed';
  return new SluiceError(code, `failed to pull ${name}: ${said}`);
}

/** Whether the kernel says that this container ran out of its memory: conmon does not see it on hybrid cgroups. */
async function kernelKilled(id: string): Promise<boolean> {
  if (!isDigest(`sha256:${id}`)) return false;
  try {
    const { stdout } = await run('dmesg', [], { timeoutMs: 5_000, outputBytesMax: 8 * 1024 * 1024 });
    return stdout.split('\n').some((line) => line.includes('oom-kill') && line.includes(id));
  } catch (error) {
    void messageOf(error); // No dmesg here: then the runner does not know.
    return false;
  }
}
