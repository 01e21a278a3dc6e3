import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fsyncDirectory, readJson, writeJson } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { createHttpClient } from '../http/client.ts';
import { createRegistryClient } from '../oci/client.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { unpackImage } from '../oci/unpack.ts';
import { run } from '../process/run.ts';
import { watchExits } from './exit-watch.ts';
import { descendants, type Process, processes, startTime } from './processes.ts';
import type { ImageInfo, Runner, RunnerContainer } from './runner.ts';
import { readHead } from './safe-file.ts';
import {
  confine,
  type Exited,
  type Launch,
  notIsolated,
  type Running,
  type SandboxOptions,
} from './sandbox-launch.ts';
import { hasNoLinks, prepareRoot, reclaim, refreshCopies } from './sandbox-root.ts';
import { startShim } from './sandbox-start.ts';
import { claimUid } from './uid-claim.ts';

const exitPollMs = 25;
/** Between SIGKILL and the supervisor's record of the exit. */
const killSettleMs = 10_000;

interface Known {
  readonly launch: Launch;
  readonly running?: Running;
  readonly exited?: Exited;
}

/** Runs containers as confined processes of this host, where no container engine can run. */
export async function openSandboxRunner(options: SandboxOptions): Promise<Runner> {
  const { dir } = options;
  const containers = join(dir, 'containers');
  const images = join(dir, 'images');
  const exits = join(dir, 'exits');
  for (const path of [containers, images, exits]) await mkdir(path, { recursive: true, mode: 0o711 });
  const ended = new Map<string, Known>();
  const starting = new Set<string>();
  const removing = new Set<string>();
  const watchers = new Set<() => void>();
  for (const name of await readdir(images)) {
    if (name.includes('.partial')) await rm(join(images, name), { recursive: true, force: true });
  }

  async function look(id: string): Promise<Known | undefined> {
    // Half removed it would look as if it had been killed.
    if (removing.has(id)) return undefined;
    const known = ended.get(id);
    if (known !== undefined) return known;
    // Asked before the files are read: a start that ends in between would look like one that nobody is at.
    const begins = starting.has(id);
    const directory = join(containers, id);
    const launch = await readJson<Launch>(join(directory, 'launch.json'));
    if (launch === undefined) return undefined;
    const running = await readJson<Running>(join(directory, 'state.json'));
    const alive = running !== undefined && startTime(running.supervisor) === running.supervisorStart;
    // Read after the look at the supervisor: it writes this last.
    const exited = await readJson<Exited>(join(directory, 'exit.json'));
    if (exited !== undefined) return remember(id, { launch, exited });
    if (alive) return { launch, running };
    if (removing.has(id)) return undefined;
    if (running === undefined) return begins ? undefined : await abandon(id, launch);
    return await abandon(id, launch, running);
  }

  function remember(id: string, known: Known): Known {
    ended.set(id, known);
    return known;
  }

  /** The supervisor was killed, or the host was started anew: what it left is ended, and recorded as killed. */
  async function abandon(id: string, launch: Launch, running?: Running): Promise<Known> {
    if (running !== undefined) {
      for (const { pid } of await leftOf(launch, running)) signal(pid, 'SIGKILL');
    }
    const now = Date.now();
    const exited: Exited = {
      phase: 'exited',
      startedAt: running?.startedAt ?? now,
      finishedAt: now,
      exitCode: 137,
      oomKilled: false,
      error: 'the supervisor of the container was killed',
    };
    await writeJson(join(containers, id, 'exit.json'), exited);
    return remember(id, { launch, exited });
  }

  async function all(): Promise<Known[]> {
    const ids = await readdir(containers);
    for (const id of ended.keys()) if (!ids.includes(id)) ended.delete(id);
    const found = await Promise.all(ids.map((id) => look(id)));
    return found.filter((known) => known !== undefined);
  }

  async function waitForExit(id: string, ms: number): Promise<boolean> {
    for (const end = Date.now() + ms; ; ) {
      const known = await look(id);
      if (known === undefined || known.exited !== undefined) return true;
      if (Date.now() >= end) return false;
      await new Promise((resolve) => setTimeout(resolve, exitPollMs));
    }
  }

  async function stop(id: string, graceMs: number): Promise<void> {
    const known = await look(id);
    if (known?.running === undefined) return;
    if (graceMs > 0) {
      signal(known.running.supervisor, 'SIGTERM');
      if (await waitForExit(id, graceMs)) return;
    }
    signal(known.running.supervisor, 'SIGUSR2');
    if (await waitForExit(id, killSettleMs)) return;
    signal(known.running.supervisor, 'SIGKILL');
    await waitForExit(id, killSettleMs);
  }

  async function image(digest: Digest): Promise<ImageInfo | undefined> {
    return await readJson<ImageInfo>(join(images, hexOf(digest), 'image.json'));
  }

  return {
    name: 'sandbox',
    notIsolated: notIsolated(options.mode),
    image,
    async pull(location, trust, signal) {
      const present = await image(location.digest);
      if (present !== undefined) return present;
      const http = createHttpClient(trust.caPem === undefined ? {} : { ca: trust.caPem });
      const partial = join(images, `${hexOf(location.digest)}.partial-${randomBytes(4).toString('hex')}`);
      try {
        const source = createRegistryClient({
          baseUrl: `https://${location.host}`,
          http,
          ...(trust.auth === undefined ? {} : { auth: trust.auth }),
        });
        await mkdir(join(partial, 'rootfs'), { recursive: true });
        const config = await unpackImage(
          source,
          location.repository,
          location.digest,
          join(partial, 'rootfs'),
          signal === undefined ? {} : { signal },
        );
        const info: ImageInfo = {
          digest: location.digest,
          user: config.user,
          entrypoint: config.entrypoint,
          cmd: config.cmd,
          env: config.env,
          workingDir: config.workingDir,
        };
        await writeJson(join(partial, 'image.json'), info);
        await rename(partial, join(images, hexOf(location.digest))).catch(async (error: unknown) => {
          // Another pull of the same image was quicker; both hold the same bytes.
          if ((await image(location.digest)) === undefined) throw error;
        });
        await fsyncDirectory(images);
        return info;
      } finally {
        await rm(partial, { recursive: true, force: true });
        await http.close();
      }
    },
    async start(spec) {
      const id = randomBytes(16).toString('hex');
      const directory = join(containers, id);
      const source = join(images, hexOf(spec.image), 'rootfs');
      if (!(await stat(source).catch(() => undefined))) {
        throw new SluiceError('NotFound', `the image ${spec.image} is not on this node`);
      }
      const siblings = (await all()).filter((known) => known.launch.container.podUid === spec.podUid);
      for (const known of siblings) if (known.exited !== undefined) await reclaim(known.launch);
      starting.add(id);
      try {
        await mkdir(directory, { mode: 0o711 });
        const launch = await prepareRoot({ id, directory, source, spec, options });
        await writeJson(join(directory, 'launch.json'), launch, { mode: 0o600 });
        await startShim(directory);
        return id;
      } catch (error) {
        const launch = await readJson<Launch>(join(directory, 'launch.json')).catch(() => undefined);
        if (launch !== undefined) await reclaim(launch);
        await rm(directory, { recursive: true, force: true });
        throw error;
      } finally {
        starting.delete(id);
      }
    },
    async list() {
      return (await all()).map((known): RunnerContainer => {
        const { launch, exited, running } = known;
        const state: RunnerContainer['state'] = exited ?? {
          phase: 'running',
          startedAt: running?.startedAt ?? Date.now(),
        };
        return { ...launch.container, state };
      });
    },
    stop,
    async remove(id) {
      if (basename(id) !== id) return;
      const known = await look(id);
      if (known?.running !== undefined) await stop(id, 0);
      if (known !== undefined) await reclaim(known.launch);
      removing.add(id);
      try {
        if (known?.launch.mode === 'user-namespace') {
          await run('chmod', ['-R', 'u+w', '--', join(containers, id)]);
        }
        await rm(join(containers, id), { recursive: true, force: true });
        await rm(join(exits, id), { force: true });
        ended.delete(id);
      } finally {
        removing.delete(id);
      }
    },
    async terminationMessage(id, bytesMax) {
      const known = await look(id);
      if (known?.exited === undefined) return '';
      // Nothing of it runs any more, so that the path cannot change while it is looked at.
      const { rootfs, terminationFile } = known.launch;
      return (await hasNoLinks(rootfs, terminationFile)) ? await readHead(terminationFile, bytesMax) : '';
    },
    async exec(id, argv, timeoutMs) {
      const known = await look(id);
      if (known?.running === undefined) return { code: 126, output: 'the container does not run' };
      // In its root and nowhere else: the container may have made its working directory a link.
      const inRoot = { ...known.launch, workingDir: known.launch.rootfs, workingDirInside: '/' };
      const [command = '', ...args] = confine(inRoot, known.running.uid, argv);
      const result = await run(command, args, { env: known.launch.env, timeoutMs });
      return { code: result.timedOut ? null : result.code, output: `${result.stdout}${result.stderr}` };
    },
    async refreshVolume(podUid, volume) {
      for (const known of await all()) {
        if (known.exited === undefined && known.launch.container.podUid === podUid) {
          await refreshCopies(known.launch, volume, known.running?.uid ?? 0);
        }
      }
    },
    onChange(listener) {
      const end = watchExits(exits, () => listener());
      const close = () => {
        end();
        watchers.delete(close);
      };
      watchers.add(close);
      return close;
    },
    async endAll(graceMs) {
      await Promise.all(
        (await all()).flatMap((known) =>
          known.exited === undefined ? [stop(known.launch.container.id, graceMs)] : [],
        ),
      );
    },
    async close() {
      for (const close of [...watchers]) close();
    },
  };
}

/** Processes that a killed supervisor has left. A uid or pid may have gone to others since. */
async function leftOf(launch: Launch, running: Running): Promise<Process[]> {
  if (launch.mode === 'user-namespace') {
    const same = startTime(running.pid) === running.pidStart;
    return same ? descendants(processes(), running.pid) : [];
  }
  const claim = await claimUid(running.uid);
  if (claim === undefined) return [];
  try {
    return processes().filter((one) => one.uid === running.uid);
  } finally {
    claim.close();
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
