import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBundle } from '../src/build/bundle.ts';
import { runOrThrow } from '../src/process/run.ts';
import { generateSigningKey } from '../src/trust/keys.ts';
import { keep, median, say, timed } from './measure.ts';
import { makeBenchRelease } from './releases.ts';

// The next z-stream of a release whose layers are nine tenths the same: bytes and time of the whole bundle and of
// the delta, built in turns. Goal: the delta has at most 15 % of the bytes.

const rounds = 3;
const mib = 1024 * 1024;
const shape = { images: 60, layersPerImage: 5, layerBytes: mib, changed: 0.1 };

const dir = await mkdtemp(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-delta-'));
try {
  const { privatePem } = generateSigningKey();
  const one = await makeBenchRelease({ ...shape, dir, version: '4.21.1', previous: [], generation: 1 });
  const two = await makeBenchRelease({
    ...shape,
    dir,
    version: '4.21.2',
    previous: ['4.21.1'],
    generation: 2,
  });
  const base = join(dir, 'base');
  await buildBundle({ ...one, privatePem, out: base });
  const times: { whole: number[]; delta: number[] } = { whole: [], delta: [] };
  const bytes: { whole: number; delta: number } = { whole: 0, delta: 0 };
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['whole', 'delta'] as const) {
      const out = join(dir, `${kind}-${round}.tar`);
      const since = kind === 'delta' ? { since: base } : {};
      times[kind].push(await timed(() => buildBundle({ ...two, ...since, privatePem, out })));
      bytes[kind] = Number((await runOrThrow('stat', ['-c', '%s', out])).stdout);
      await rm(out);
    }
  }
  const share = bytes.delta / bytes.whole;
  const row = (kind: 'whole' | 'delta') =>
    `${kind.padEnd(6)} ${(bytes[kind] / mib).toFixed(1).padStart(8)} MiB ${(median(times[kind]) / 1000).toFixed(2).padStart(7)} s`;
  say(row('whole'));
  say(row('delta'));
  say(
    `delta / whole: ${(share * 100).toFixed(1)} % of the bytes (goal: at most 15 %), ${(median(times.delta) / median(times.whole)).toFixed(2)} of the time`,
  );
  keep('delta', {
    shape,
    rounds,
    bytes,
    share,
    seconds: { whole: median(times.whole) / 1000, delta: median(times.delta) / 1000 },
  });
} finally {
  await rm(dir, { recursive: true, force: true });
}
