/**
 * A copy with the default throttle beside a writer like etcd, which flushes 8 KiB every 10 ms on the same disk: the
 * writer's 99th percentile alone and during the copy, in turns, and beside it what a copy without throttle does to it.
 * `--mib N` of the bundle, `--images N`, `--runs N`, `--idle SECONDS`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBundle } from '../src/bundle/bundle.ts';
import { createPace } from '../src/copy/pace.ts';
import { planCopy } from '../src/copy/plan.ts';
import { runCopy } from '../src/copy/run.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { openStore } from '../src/store/store.ts';
import { keep, median, say } from './measure.ts';
import { bigRelease, trustedKey } from './node-copies.ts';

const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '1600' },
    images: { type: 'string', default: '60' },
    runs: { type: 'string', default: '3' },
    idle: { type: 'string', default: '20' },
  },
});
type Phase = 'alone' | 'throttled' | 'unthrottled';
let writer: ChildProcessByStdio<null, Readable, null> | undefined;
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-polite-'));

async function copy(media: string, name: string, throttled: boolean): Promise<void> {
  const opened = await openMedia(media);
  const store = await openStore(join(dir, 'store'));
  const bundle = await openBundle(opened.content, { name }, [trustedKey]);
  const plan = await planCopy(opened.content, store, bundle);
  const { outcome } = await runCopy(plan, {
    signal: new AbortController().signal,
    clock: systemClock,
    ...(throttled ? { pace: createPace({ clock: systemClock }) } : {}),
  });
  if (outcome !== 'Whole') throw new Error(`the copy ended as ${outcome}`);
  await opened.close();
  rmSync(join(dir, 'store'), { recursive: true, force: true });
}

const percentile = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

try {
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
    await sleep(3_000);
  };
  for (let turn = 0; turn < Number(options.runs); turn += 1) {
    await during('alone', () => sleep(Number(options.idle) * 1000));
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
  for (const phase of ['alone', 'throttled', 'unthrottled'] as const) {
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
