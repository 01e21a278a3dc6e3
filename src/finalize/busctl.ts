import { messageOf } from '../errors/error.ts';
import type { RunResult } from '../process/run.ts';
import type { Hold } from './hold.ts';

type Run = (command: string, args: readonly string[], options: { timeoutMs: number }) => Promise<RunResult>;

const timeoutMs = 5_000;
const login1 = [
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
] as const;

/** One row of logind's ListInhibitors, `a(ssssuu)`. */
export interface Inhibitor {
  readonly what: string;
  readonly who: string;
  readonly why: string;
  readonly mode: string;
}

/** Asks logind who inhibits what. Throws where it cannot be asked or answers something else. */
export async function listInhibitors(run: Run): Promise<Inhibitor[]> {
  const result = await run('busctl', ['--json=short', 'call', ...login1, 'ListInhibitors'], { timeoutMs });
  if (result.code !== 0) throw new Error(result.stderr.trim() || `busctl ended with ${result.code}`);
  const { data } = JSON.parse(result.stdout) as {
    data: [string, string, string, string, number, number][][];
  };
  return (data[0] ?? []).map(([what, who, why, mode]) => ({ what, who, why, mode }));
}

/**
 * The holds that inhibitors are: those that block a shutdown. A `delay` lock, which every kubelet has, is none;
 * `what` is a list parted by colons (case B54).
 */
export function inhibitorHolds(inhibitors: readonly Inhibitor[]): Hold[] {
  return inhibitors
    .filter(({ what, mode }) => mode === 'block' && what.split(':').includes('shutdown'))
    .map(({ who, why }) => ({
      gate: 'inhibitors',
      reason: 'BlockInhibitor',
      message: `${who} inhibits the shutdown: ${why}`,
    }));
}

/** Unknown is not "nobody": where logind cannot be asked, the node is held. */
export async function lookForInhibitors(run: Run): Promise<Hold[]> {
  try {
    return inhibitorHolds(await listInhibitors(run));
  } catch (error) {
    return [
      { gate: 'inhibitors', reason: 'Unknown', message: `logind cannot be asked: ${messageOf(error)}` },
    ];
  }
}
