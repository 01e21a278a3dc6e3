import { readJson, writeJson } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import type { UpLayout } from './layout.ts';

/** What `sluice up` writes about itself, for people, for `up status` and `up stop`, and for the demo. */
export interface UpState {
  readonly pid: number;
  /** Seconds since boot at which the process began: a pid alone may be somebody else's later. */
  readonly startTicks: number;
  readonly phase: 'starting' | 'ready';
  readonly startedAt: string;
  readonly network: number;
  readonly release: string;
  readonly server: string;
  readonly kubeconfig: string;
  readonly caFile: string;
  readonly authFile: string;
  readonly lockUrl: string;
  /** What is shown there. */
  readonly lockSecretFile: string;
  /** Where the web console answers; absent where it is not built. */
  readonly consoleUrl?: string;
  readonly workload: { readonly runner: string; readonly notIsolated: readonly string[] };
  readonly nodes: readonly {
    readonly name: string;
    readonly address: string;
    readonly registry: string;
    readonly dir: string;
  }[];
}

export async function readState(layout: UpLayout): Promise<UpState | undefined> {
  return await readJson<UpState>(layout.state);
}

export async function writeState(layout: UpLayout, state: UpState): Promise<void> {
  await writeJson(layout.state, state);
}

/** The state of a cluster that runs now; undefined where none does. */
export async function runningState(layout: UpLayout): Promise<UpState | undefined> {
  const state = await readState(layout);
  if (state === undefined || (await startTicksOf(state.pid)) !== state.startTicks) return undefined;
  return state;
}

/**
 * The start time of a process in clock ticks since boot (proc(5), stat, field 22); undefined where it is gone, also
 * where it has ended and only its parent has not asked for it yet (state Z).
 */
export async function startTicksOf(pid: number): Promise<number | undefined> {
  const { readFile } = await import('node:fs/promises');
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The command name in parentheses may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

/** Errors: Conflict where a cluster already runs from this directory. */
export async function requireStopped(layout: UpLayout): Promise<void> {
  const state = await runningState(layout);
  if (state === undefined) return;
  throw new SluiceError('Conflict', `a cluster already runs from ${layout.dir} (process ${state.pid})`, {
    next: `Use it: export KUBECONFIG=${shellWord(state.kubeconfig)}; or end it: sluice up stop --dir ${shellWord(layout.dir)}`,
  });
}
