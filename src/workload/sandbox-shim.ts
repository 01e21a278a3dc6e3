/**
 * The supervisor of one sandboxed container: a process of its own, so that the container and its exit code
 * survive the kubelet. Started as `sluice sandbox-shim <directory of the container>` (sandbox-start.ts).
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { writeJson } from '../durable/file.ts';
import { messageOf } from '../errors/error.ts';
import { runOrThrow } from '../process/run.ts';
import { LogWriter } from './log-writer.ts';
import { descendants, processes, startTime } from './processes.ts';
import { confine, type Exited, type Launch, type Running, uidFirst, uidLast } from './sandbox-launch.ts';
import { claimUid } from './uid-claim.ts';

const memoryCheckMs = 200;
const killRoundsMax = 50;

/**
 * Runs the container of a directory to its end; says `ready` on standard output, or the error. SIGTERM is handed to
 * the container; SIGUSR2 ends everything in it. Resolves to the exit code, where the container did not start.
 */
export async function superviseContainer(directory: string): Promise<number> {
  try {
    const launch = JSON.parse(readFileSync(join(directory, 'launch.json'), 'utf8')) as Launch;
    return await supervise(directory, launch);
  } catch (error) {
    process.stdout.write(`${messageOf(error)}\n`);
    return 1;
  }
}

async function supervise(directory: string, launch: Launch): Promise<never> {
  const uid = launch.mode === 'root' ? await takeUid() : (process.getuid?.() ?? 0);
  if (launch.mode === 'root') {
    if (launch.owned.length > 0) await runOrThrow('chown', ['-Rh', `${uid}:${uid}`, '--', ...launch.owned]);
    if (launch.readable.length > 0) {
      await runOrThrow('chown', ['-Rh', `0:${uid}`, '--', ...launch.readable]);
      await runOrThrow('chmod', ['-R', 'g+rX', '--', ...launch.readable]);
    }
  }
  const log = new LogWriter(launch.container.logPath, launch.logBytesMax);
  const [command = '', ...args] = confine(launch, uid, launch.argv);
  const child = spawn(command, args, { env: launch.env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk: Buffer) => log.write('stdout', chunk));
  child.stderr.on('data', (chunk: Buffer) => log.write('stderr', chunk));
  // Listened to from the beginning: a short container has ended before anything else is done here.
  const exit = new Promise<number>((resolve) => {
    child.on('exit', (code, name) => resolve(code ?? 128 + (name === null ? 0 : constants.signals[name])));
  });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  const pid = child.pid ?? 0;
  const startedAt = Date.now();
  const state: Running = {
    supervisor: process.pid,
    supervisorStart: startTime(process.pid) ?? '',
    pid,
    pidStart: startTime(pid) ?? '',
    uid,
    startedAt,
  };
  const members = () => {
    const all = processes();
    return launch.mode === 'root' ? all.filter((one) => one.uid === uid) : descendants(all, pid);
  };
  const killAll = () => {
    for (const one of members()) signal(one.pid, 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null) signal(pid, 'SIGKILL');
  };
  process.on('SIGTERM', () => {
    // In a process namespace the container is the only child of unshare, which keeps signals to itself.
    const inner = launch.mode === 'root' ? undefined : processes().find((one) => one.parent === pid)?.pid;
    signal(inner ?? pid, 'SIGTERM');
  });
  process.on('SIGUSR2', killAll);
  process.on('SIGINT', () => {});
  process.on('SIGHUP', () => {});

  let oomKilled = false;
  const watch = setInterval(() => {
    if (launch.memoryBytes === undefined) return;
    const used = members().reduce((sum, one) => sum + one.memoryBytes, 0);
    if (used <= launch.memoryBytes) return;
    oomKilled = true;
    killAll();
  }, memoryCheckMs);

  await writeJson(join(directory, 'state.json'), state);
  process.stdout.write('ready\n');

  const exitCode = await exit;
  const finishedAt = Date.now();
  clearInterval(watch);
  // What the container's first process left behind ends with it, as in a process namespace.
  for (let round = 0; round < killRoundsMax && members().length > 0; round += 1) {
    killAll();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await closed;
  log.close();
  const exited: Exited = { phase: 'exited', startedAt, finishedAt, exitCode, oomKilled };
  await writeJson(join(directory, 'exit.json'), exited);
  // In one directory for all containers, so that one watch learns of every exit.
  await writeJson(join(directory, '..', '..', 'exits', launch.container.id), exited);
  process.exit(0);
}

/** A uid that no other container of this host has, for as long as this process lives. */
async function takeUid(): Promise<number> {
  const inUse = new Set(processes().map((one) => one.uid));
  const range = uidLast - uidFirst + 1;
  const first = Math.floor(Math.random() * range);
  for (let step = 0; step < range; step += 1) {
    const uid = uidFirst + ((first + step) % range);
    if (!inUse.has(uid) && (await claimUid(uid))) return uid;
  }
  throw new Error(`no free uid between ${uidFirst} and ${uidLast}`);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
