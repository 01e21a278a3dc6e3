/**
 * Memory of each process of a cluster at rest: the API with its controllers, the controller, three nodes with their
 * registries (`sluice up`). Prints the median of the samples in MiB. It is started twice, and the second time counts:
 * the first start of a checkout compiles, as no host does that has booted before, nor the single-file program ever.
 * `--settle SECONDS`, `--samples N`, `--program FILE` (the single file).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { ended } from './engines.ts';
import { keep, type Memory, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    settle: { type: 'string', default: '40' },
    samples: { type: 'string', default: '9' },
    program: { type: 'string', default: join(repository, 'sluice') },
  },
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
    const role = roles.find((one) => command.includes(` ${one} `));
    if (at === root && role !== undefined) found.set(pid, role);
  }
  return found;
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = testKey();
const release = await makeRelease({ version: '1.0.0', dir, key: key.pair });
writeFileSync(join(dir, 'key.pub'), key.pair.publicPem);

/** Starts a cluster in a directory of its own; resolves when its nodes hold the release. */
async function startCluster(name: string): Promise<ChildProcess> {
  const own = ['--dir', join(dir, name), '--release', release.path, '--key', join(dir, 'key.pub')];
  const child = spawn(options.program, ['up', ...own, '--workload', 'none'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (said.includes('ready: ')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  return child;
}

try {
  if (existsSync(join(repository, 'src'))) await ended(await startCluster('first'), 'SIGTERM');
  const child = await startCluster('second');
  await sleep(Number(options.settle) * 1000);
  const samples = new Map<number, Memory[]>();
  const processes = processesBelow(child.pid ?? 0);
  for (let sample = 0; sample < Number(options.samples); sample += 1) {
    for (const pid of processes.keys()) samples.set(pid, [...(samples.get(pid) ?? []), memoryOf(pid)]);
    await sleep(1000);
  }
  await ended(child, 'SIGTERM');
  const results: { role: string; rssMiB: number; ownMiB: number }[] = [];
  for (const role of roles) {
    for (const [pid, name] of processes) {
      if (name !== role) continue;
      const seen = samples.get(pid) ?? [];
      const rssMiB = median(seen.map((each) => each.rssMiB));
      const ownMiB = median(seen.map((each) => each.ownMiB));
      results.push({ role, rssMiB, ownMiB });
      const goal = goalsMiB[role] === undefined ? '' : `   (goal: ${goalsMiB[role]})`;
      say(
        `${role.padEnd(16)} ${rssMiB.toFixed(1).padStart(6)} MiB, ${ownMiB.toFixed(1).padStart(5)} of them its own${goal}`,
      );
    }
  }
  keep('rss', {
    program: options.program === join(repository, 'sluice') ? 'checkout' : 'single file',
    results,
  });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
