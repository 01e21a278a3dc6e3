/**
 * A copy with the default throttle beside a writer like etcd, which flushes 8 KiB every 10 ms on the same disk: the
 * writer's 99th percentile alone and during the copy, in turns, and beside it what a copy without throttle does to it,
 * and what a process does that only computes and leaves the disk alone.
 * `--mib N` of the bundle, `--images N`, `--runs N`, `--idle SECONDS`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keep, median, say } from './measure.ts';
import { bigRelease, publicKey } from './node-copies.ts';

const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '1600' },
    images: { type: 'string', default: '60' },
    runs: { type: 'string', default: '3' },
    idle: { type: 'string', default: '20' },
  },
});
type Phase = 'alone' | 'computing' | 'throttled' | 'unthrottled';
const phases: readonly Phase[] = ['alone', 'computing', 'throttled', 'unthrottled'];
const idleMs = Number(options.idle) * 1000;
let writer: ChildProcessByStdio<null, Readable, null> | undefined;
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-polite-'));
const keyFile = join(dir, 'key.pub');

/** As a node copies: in a process of its own, with what `sluice node run` is started with. */
async function copy(media: string, name: string, throttled: boolean): Promise<void> {
  const flags = ['--max-semi-space-size=1', '--no-opt', '--no-maglev', ...process.execArgv];
  const script = join(import.meta.dirname, 'polite-copy.ts');
  const words = [media, name, keyFile, join(dir, 'store'), throttled ? 'throttled' : 'unthrottled'];
  const copier = spawn(process.execPath, [...flags, script, ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(copier, 'close');
  if (code !== 0) throw new Error(`the copy ended with ${code}`);
}

async function compute(ms: number): Promise<void> {
  const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  await sleep(ms);
  busy.kill('SIGKILL');
  await once(busy, 'close');
}

const percentile = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

try {
  writeFileSync(keyFile, publicKey);
  const release = await bigRelease(dir, Number(options.mib), Number(options.images));
  spawn('sync');
  await sleep(5_000);
  writer = spawn(
    process.execPath,
    [...process.execArgv, join(import.meta.dirname, 'etcd-writer.ts'), join(dir, 'wal')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  writer.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await sleep(2_000);
  const spans: { phase: Phase; from: number; to: number }[] = [];
  const during = async (phase: Phase, work: () => Promise<unknown>) => {
    const from = Date.now();
    await work();
    spans.push({ phase, from, to: Date.now() });
    rmSync(join(dir, 'store'), { recursive: true, force: true }); // Not the copy's work, so not within its time.
    await sleep(5_000);
  };
  for (let turn = 0; turn < Number(options.runs); turn += 1) {
    await during('alone', () => sleep(idleMs));
    await during('computing', () => compute(idleMs));
    await during('throttled', () => copy(release.path, release.name, true));
    await during('unthrottled', () => copy(release.path, release.name, false));
  }
  writer.kill('SIGTERM');
  await once(writer, 'close');
  const flushes = JSON.parse(output) as [number, number][];
  const measured = spans.map((span) => {
    const took = flushes.filter(([at]) => at >= span.from && at < span.to).map(([, ms]) => ms);
    return {
      ...span,
      flushes: took.length,
      p50: percentile(took, 0.5),
      p99: percentile(took, 0.99),
      seconds: (span.to - span.from) / 1000,
    };
  });
  const of = (phase: Phase, what: 'p50' | 'p99' | 'seconds') =>
    median(measured.filter((each) => each.phase === phase).map((each) => each[what]));
  say(`${options.mib} MiB beside 8 KiB flushed every 10 ms, ${options.runs} runs`);
  say(`${''.padEnd(14)} flush p50, ms   p99, ms   seconds`);
  for (const phase of phases) {
    say(
      `${phase.padEnd(14)} ${of(phase, 'p50').toFixed(2).padStart(13)} ${of(phase, 'p99').toFixed(2).padStart(9)} ${of(phase, 'seconds').toFixed(1).padStart(9)}`,
    );
  }
  say(`p99 throttled / alone   ${(of('throttled', 'p99') / of('alone', 'p99')).toFixed(2)}   (goal: <= 2)`);
  keep('polite', { mib: Number(options.mib), measured });
} finally {
  // Where it still runs the bench has failed, and would not end before it.
  writer?.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
