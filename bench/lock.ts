/**
 * The fleet lock under a fleet: many identities over many connections lock and unlock in groups, each waiting for its
 * turn. Prints pairs (lock and unlock) a second, the 99th percentile of a request, and the most slots that any group
 * ever had taken, by the answers. Beside it, in turns, airlock on etcd where both are there: `--airlock FILE` (built
 * from github.com/coreos/airlock) and the etcd of tests/engine/build.sh. `--store file|api`, `--identities N`,
 * `--connections N`, `--groups N`, `--slots N`, `--runs N`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { repository } from '../tests/tier.ts';
import { ended, startEmbedded } from './engines.ts';
import { keep, median, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    airlock: { type: 'string' },
    etcd: { type: 'string' },
    store: { type: 'string', default: 'file' },
    identities: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '256' },
    groups: { type: 'string', default: '50' },
    slots: { type: 'string', default: '4' },
    runs: { type: 'string', default: '3' },
  },
});
const identities = Number(options.identities);
const connections = Number(options.connections);
const groups = Array.from({ length: Number(options.groups) }, (_, index) => `group-${index}`);
const slots = Number(options.slots);
const pairsGoal = 3_000;
const ratioGoal = 3;

const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-lock-'));
const children: ChildProcess[] = [];

interface Result {
  readonly pairsPerSecond: number;
  readonly p99Ms: number;
  readonly mostTaken: number;
}

/** Every identity locks once and unlocks once; one that finds its group full asks again. */
async function load(url: string): Promise<Result> {
  const agent = new Agent({ connections, pipelining: 1 });
  const taken = new Map<string, number>();
  const latencies: number[] = [];
  let mostTaken = 0;
  const ask = async (call: string, id: string, group: string): Promise<boolean> => {
    const began = performance.now();
    const { statusCode, body } = await request(`${url}/v1/${call}`, {
      method: 'POST',
      headers: { 'fleet-lock-protocol': 'true', 'content-type': 'application/json' },
      body: JSON.stringify({ client_params: { id, group } }),
      dispatcher: agent,
    });
    await body.dump();
    latencies.push(performance.now() - began);
    return statusCode === 200;
  };
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < identities; at = next++) {
      const id = `id-${at}`;
      const group = groups[at % groups.length] ?? '';
      while (!(await ask('pre-reboot', id, group))) await sleep(1);
      // Counted from after the grant until before the return is asked for: at no time more than there are.
      const now = (taken.get(group) ?? 0) + 1;
      taken.set(group, now);
      mostTaken = Math.max(mostTaken, now);
      await sleep(0);
      taken.set(group, (taken.get(group) ?? 0) - 1);
      while (!(await ask('steady-state', id, group))) await sleep(1);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - began) / 1000;
  await agent.close();
  latencies.sort((a, b) => a - b);
  return {
    pairsPerSecond: identities / seconds,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    mostTaken,
  };
}

async function untilAnswers(url: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      const { body } = await request(`${url}/`);
      await body.dump();
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error(`${url} does not answer`);
}

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, SLUICE_LOG: 'warn' } });
  children.push(child);
  return child;
}

async function startSluice(): Promise<string> {
  const url = 'http://127.0.0.1:3391';
  const listen = ['lock', 'serve', '--listen', '127.0.0.1:3391'];
  if (options.store === 'api') {
    const api = await startEmbedded(join(dir, 'api'));
    const client = createKubeClient({ ...loadKubeconfig(api.kubeconfig), platform: 'standalone' });
    for (const name of groups)
      await client.create(client.kinds.FleetLockGroup, { metadata: { name }, spec: { slots } });
    await client.close();
    start(join(repository, 'sluice'), [...listen, '--kubeconfig', api.kubeconfig]);
  } else {
    const rules = groups.map((name) => `${name}=${slots}`);
    start(join(repository, 'sluice'), [...listen, '--state', join(dir, 'slots'), '--slots', ...rules]);
  }
  await untilAnswers(url);
  return url;
}

async function startAirlock(airlock: string, etcd: string): Promise<string> {
  const peers = [
    '--listen-peer-urls',
    'http://127.0.0.1:3394',
    '--initial-advertise-peer-urls',
    'http://127.0.0.1:3394',
  ];
  const clients = [
    '--listen-client-urls',
    'http://127.0.0.1:3393',
    '--advertise-client-urls',
    'http://127.0.0.1:3393',
  ];
  const cluster = ['--initial-cluster', 'default=http://127.0.0.1:3394', '--log-level', 'error'];
  start(etcd, ['--data-dir', join(dir, 'etcd'), ...peers, ...clients, ...cluster]);
  const tables = groups.map((name) => `[[lock.groups]]\nname = "${name}"\nslots = ${slots}\n`);
  const config = `[service]\naddress = "127.0.0.1"\nport = 3392\ntls = false\n[status]\nenabled = false\n[etcd3]\nendpoints = ["http://127.0.0.1:3393"]\n[lock]\ndefault_group_name = "default"\ndefault_slots = 1\n${tables.join('')}`;
  writeFileSync(join(dir, 'airlock.toml'), config);
  await untilAnswers('http://127.0.0.1:3393');
  start(airlock, ['serve', '-c', join(dir, 'airlock.toml')]);
  await untilAnswers('http://127.0.0.1:3392');
  return 'http://127.0.0.1:3392';
}

const cache = process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? '/root', '.cache');
const etcd =
  options.etcd ??
  join(process.env.SLUICE_ENGINE_CACHE ?? join(cache, 'sluice-engine'), 'k1.34.4-e3.7.3', 'bin', 'etcd');
const rounds: { ours: Result; theirs?: Result }[] = [];
try {
  const ours = await startSluice();
  const theirs =
    options.airlock !== undefined && existsSync(etcd) ? await startAirlock(options.airlock, etcd) : undefined;
  for (let round = 0; round < Number(options.runs); round += 1) {
    rounds.push({ ours: await load(ours), ...(theirs === undefined ? {} : { theirs: await load(theirs) }) });
  }
} finally {
  await Promise.all(children.map((child) => ended(child, 'SIGKILL')));
  rmSync(dir, { recursive: true, force: true });
}
/** Medians over the rounds, and the most slots that were taken in any of them. */
const summary = (results: readonly Result[]): Result => ({
  pairsPerSecond: median(results.map(({ pairsPerSecond }) => pairsPerSecond)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
  mostTaken: Math.max(...results.map(({ mostTaken }) => mostTaken)),
});
const row = (name: string, { pairsPerSecond, p99Ms, mostTaken }: Result) => {
  const [pairs, p99] = [pairsPerSecond.toFixed(0).padStart(7), p99Ms.toFixed(1).padStart(7)];
  say(`${name.padEnd(24)} ${pairs} pairs/s   p99 ${p99} ms   most slots taken ${mostTaken} of ${slots}`);
};
say(
  `${identities} identities, ${connections} connections, ${groups.length} groups of ${slots} slots, ${rounds.length} rounds in turns`,
);
const ours = summary(rounds.map((round) => round.ours));
row(`sluice (${options.store})`, ours);
const others = rounds.flatMap(({ theirs }) => (theirs === undefined ? [] : [theirs]));
const theirs = others.length === 0 ? undefined : summary(others);
keep('lock', {
  store: options.store,
  identities,
  connections,
  groups: groups.length,
  slots,
  ours,
  theirs,
  rounds,
});
if (theirs !== undefined) {
  row('airlock on etcd', theirs);
  say(`ratio ${(ours.pairsPerSecond / theirs.pairsPerSecond).toFixed(1)} (goal ${ratioGoal})`);
} else say(`goal ${pairsGoal} pairs/s (no airlock to compare with: --airlock FILE)`);
