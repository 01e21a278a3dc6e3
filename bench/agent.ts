/**
 * The agent of a host at rest, and how soon it acts: resident memory and CPU of `sluice node run --local` while nothing
 * happens, then the time from the rename of a marker file until the system is told to finalize (the simulated driver
 * writes that down), median of some. `--idle SECONDS`, `--runs N`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { repository } from '../tests/tier.ts';
import { ended } from './engines.ts';
import { cpuSeconds, keep, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: { idle: { type: 'string', default: '600' }, runs: { type: 'string', default: '9' } },
});
const goals = { rssMiB: 65, cpuPercent: 0.1, finalizeMs: 200 };
const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-agent-'));
const digest = (character: string) => `sha256:${character.repeat(64)}`;
const deployment = (character: string) => ({
  image: `os@${digest(character)}`,
  digest: digest(character),
  version: character,
});
const osFile = join(dir, 'os', 'os.json');
const markerFile = join(dir, 'marker', 'allowfinalize.json');

for (const name of ['os', 'marker', 'config.d', 'run']) mkdirSync(join(dir, name));
writeFileSync(join(dir, 'machine-id'), `${'ab'.repeat(16)}\n`);
writeFileSync(
  join(dir, 'config.d', '50.toml'),
  `[agent]\nclock = "trusted"\n[updates]\nmode = "finalize-only"\nstrategy = "marker_file"\n[updates.marker_file]\npath = "${markerFile}"\n`,
);

async function startAgent(bootId: string): Promise<ChildProcess> {
  writeFileSync(osFile, JSON.stringify({ booted: deployment('1'), staged: deployment('2'), bootID: bootId }));
  const where = ['--dir', dir, '--run-dir', join(dir, 'run'), '--config-dir', join(dir, 'config.d')];
  const child = spawn(
    join(repository, 'sluice'),
    ['node', 'run', '--local', '--os-driver', 'simulated', '--boot-id', bootId, ...where],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  );
  for (;;) {
    await sleep(100);
    try {
      const { holds } = JSON.parse(await ask()) as { holds?: { reason: string }[] };
      if (holds?.[0]?.reason === 'NoMarker') return child;
    } catch {
      // Not yet.
    }
  }
}

async function ask(): Promise<string> {
  const { askNode } = await import('../src/node/socket.ts');
  return JSON.stringify(await askNode(join(dir, 'run', 'node.sock'), 'GET /v1/finalization'));
}

/** The time until the simulated system is marked as finalized. */
async function finalizeMs(round: number): Promise<number> {
  const child = await startAgent(`boot-${round}`);
  const { promise, resolve } = Promise.withResolvers<number>();
  const watcher = watch(join(dir, 'os'), () => {
    try {
      if ((JSON.parse(readFileSync(osFile, 'utf8')) as { finalized?: boolean }).finalized === true)
        resolve(performance.now());
    } catch {
      // Between two files.
    }
  });
  writeFileSync(
    `${markerFile}.new`,
    JSON.stringify({ notAfter: Math.floor(Date.now() / 1000) + 600, once: true }),
  );
  const began = performance.now();
  renameSync(`${markerFile}.new`, markerFile);
  const ms = (await promise) - began;
  watcher.close();
  await ended(child, 'SIGKILL');
  rmSync(join(dir, 'state'), { recursive: true, force: true });
  return ms;
}

try {
  // A first start compiles, and its end keeps what was compiled, as on a host that has booted before.
  await ended(await startAgent('idle'), 'SIGTERM');
  const idle = await startAgent('idle');
  await sleep(5_000);
  const pid = idle.pid ?? 0;
  const before = cpuSeconds(pid);
  await sleep(Number(options.idle) * 1000);
  const cpuPercent = ((cpuSeconds(pid) - before) / Number(options.idle)) * 100;
  const { rssMiB, ownMiB } = memoryOf(pid);
  await ended(idle, 'SIGKILL');
  say(
    `idle for ${options.idle} s: RSS ${rssMiB.toFixed(1)} MiB (goal ${goals.rssMiB}), ${ownMiB.toFixed(1)} of them its own; CPU ${cpuPercent.toFixed(3)} % of a core (goal ${goals.cpuPercent})`,
  );
  rmSync(join(dir, 'state'), { recursive: true, force: true });
  const times: number[] = [];
  for (let round = 0; round < Number(options.runs); round += 1) times.push(await finalizeMs(round));
  say(
    `marker written to finalize called: median ${median(times).toFixed(0)} ms of ${times.length} (goal ${goals.finalizeMs})`,
  );
  keep('agent', { idleSeconds: Number(options.idle), rssMiB, ownMiB, cpuPercent, finalizeMs: times });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
