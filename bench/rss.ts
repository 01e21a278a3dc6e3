/**
 * Memory of each process of a cluster at rest: the API with its controllers, the controller, three nodes with their
 * registries (`sluice up`). Prints the median of the samples in MiB. `--settle SECONDS`, `--samples N`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { ended } from './engines.ts';
import { median, say } from './measure.ts';

const { values: options } = parseArgs({
  options: { settle: { type: 'string', default: '40' }, samples: { type: 'string', default: '9' } },
});

const roles = ['apiserver', 'controller', 'node run', 'registry serve'] as const;
const goalsMiB: Readonly<Record<string, number>> = { apiserver: 140, controller: 110, 'node run': 75 };

/** The processes below one, by what they do. */
function processesBelow(root: number): Map<number, string> {
  const parents = new Map<number, number>();
  const commands = new Map<number, string>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      commands.set(Number(name), readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = new Map<number, string>();
  for (const [pid, command] of commands) {
    let at: number | undefined = pid;
    while (at !== undefined && at !== root) at = parents.get(at);
    const role = roles.find((one) => command.includes(`main.ts ${one} `));
    if (at === root && role !== undefined) found.set(pid, role);
  }
  return found;
}

const rssMiB = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = testKey();
const release = await makeRelease({ version: '1.0.0', dir, key: key.pair });
writeFileSync(join(dir, 'key.pub'), key.pair.publicPem);
const child = spawn(
  join(repository, 'sluice'),
  [
    'up',
    '--dir',
    join(dir, 'up'),
    '--release',
    release.path,
    '--key',
    join(dir, 'key.pub'),
    '--workload',
    'none',
  ],
  { stdio: ['ignore', 'ignore', 'inherit'] },
);
try {
  await sleep(Number(options.settle) * 1000);
  const samples = new Map<number, number[]>();
  const processes = processesBelow(child.pid ?? 0);
  for (let sample = 0; sample < Number(options.samples); sample += 1) {
    for (const pid of processes.keys()) samples.set(pid, [...(samples.get(pid) ?? []), rssMiB(pid)]);
    await sleep(1000);
  }
  for (const role of roles) {
    for (const [pid, name] of processes) {
      if (name !== role) continue;
      const goal = goalsMiB[role] === undefined ? '' : `   (goal: ${goalsMiB[role]})`;
      say(
        `${role.padEnd(16)} ${median(samples.get(pid) ?? [])
          .toFixed(0)
          .padStart(5)} MiB${goal}`,
      );
    }
  }
} finally {
  await ended(child, 'SIGTERM');
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
