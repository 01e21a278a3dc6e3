import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';

/** The middle of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** A line through points by least squares: its slope in y for each x, and how well it fits (Pearson, -1 to 1). */
export function lineThrough(points: readonly { readonly x: number; readonly y: number }[]): {
  readonly slope: number;
  readonly correlation: number;
} {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const x = mean((point) => point.x);
  const y = mean((point) => point.y);
  const xx = mean((point) => (point.x - x) ** 2);
  const yy = mean((point) => (point.y - y) ** 2);
  const xy = mean((point) => (point.x - x) * (point.y - y));
  return { slope: xy / xx, correlation: yy === 0 ? 0 : xy / Math.sqrt(xx * yy) };
}

/** Milliseconds that something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs `work` for 0 to `count` - 1, `width` at once; returns how many a second were done. */
export async function rateOf(
  count: number,
  width: number,
  work: (at: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) await work(at);
  };
  const ms = await timed(() => Promise.all(Array.from({ length: width }, worker)));
  return (count / ms) * 1000;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Keeps what was measured as `bench/results/NAME.json`, with the load of the machine, which makes single times longer. */
export function keep(name: string, results: object): void {
  const directory = join(import.meta.dirname, 'results');
  mkdirSync(directory, { recursive: true });
  const measured = { at: new Date().toISOString(), load: loadavg().map((each) => Number(each.toFixed(1))) };
  writeFileSync(join(directory, `${name}.json`), `${JSON.stringify({ ...measured, ...results }, null, 2)}\n`);
}

/** Resident memory of a process in MiB, and how much of it is its own (heaps, stacks), not pages of files. */
export interface Memory {
  readonly rssMiB: number;
  readonly ownMiB: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  const mib = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) / 1024;
  return { rssMiB: mib('VmRSS'), ownMiB: mib('RssAnon') };
}

/** Seconds of CPU that a process has used, its ended children not counted. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / 100;
}
