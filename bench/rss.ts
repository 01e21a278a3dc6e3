/**
 * Memory of each process of a cluster at rest: the API with its controllers, the controller, three nodes with their
 * registries (`sluice up`). Prints the median of the samples in MiB. It is started twice, and the second time counts:
 * the first start of a checkout compiles, as no host does that has booted before, nor the single-file program ever.
 * `--settle SECONDS`, `--samples N`, `--program FILE` (the single file).
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { processesBelow, type Role, startCluster } from './cluster.ts';
import { ended } from './engines.ts';
import { keep, type Memory, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    settle: { type: 'string', default: '40' },
    samples: { type: 'string', default: '9' },
    program: { type: 'string', default: join(repository, 'sluice') },
  },
});

const goalsMiB: Readonly<Record<string, number>> = { apiserver: 140, controller: 110, 'node run': 75 };

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = testKey();
const release = await makeRelease({ version: '1.0.0', dir, key: key.pair });
writeFileSync(join(dir, 'key.pub'), key.pair.publicPem);

/** Starts a cluster in a directory of its own. */
const start = (name: string) =>
  startCluster({
    program: options.program,
    dir: join(dir, name),
    release: release.path,
    key: join(dir, 'key.pub'),
  });

try {
  if (existsSync(join(repository, 'src'))) await ended(await start('first'), 'SIGTERM');
  const child = await start('second');
  await sleep(Number(options.settle) * 1000);
  const samples = new Map<number, Memory[]>();
  const processes = processesBelow(child.pid ?? 0).filter(({ role }) => role !== 'console');
  for (let sample = 0; sample < Number(options.samples); sample += 1) {
    for (const { pid } of processes) samples.set(pid, [...(samples.get(pid) ?? []), memoryOf(pid)]);
    await sleep(1000);
  }
  await ended(child, 'SIGTERM');
  const results: { role: Role; rssMiB: number; ownMiB: number }[] = [];
  for (const { pid, role } of processes) {
    const seen = samples.get(pid) ?? [];
    const rssMiB = median(seen.map((each) => each.rssMiB));
    const ownMiB = median(seen.map((each) => each.ownMiB));
    results.push({ role, rssMiB, ownMiB });
    const goal = goalsMiB[role] === undefined ? '' : `   (goal: ${goalsMiB[role]})`;
    say(
      `${role.padEnd(16)} ${rssMiB.toFixed(1).padStart(6)} MiB, ${ownMiB.toFixed(1).padStart(5)} of them its own${goal}`,
    );
  }
  keep('rss', {
    program: options.program === join(repository, 'sluice') ? 'checkout' : 'single file',
    results,
  });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
