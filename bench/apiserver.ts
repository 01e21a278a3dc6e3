/**
 * The embedded API beside kube-apiserver + etcd in one run, interleaved, durable writes on both: 20,000 objects are
 * created in rounds; in each round objects are updated, one namespace of 5,000 is listed and the way of an update to
 * 50 watchers is timed. Prints the medians of the rounds. `--rounds N`, `--per-round N`, `--embedded-only`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchEngine, startEmbedded, startReal } from './engines.ts';
import { median, rateOf, say, timed } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    'per-round': { type: 'string', default: '4000' },
    'embedded-only': { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const perRound = Number(options['per-round']);
const namespaceSize = 5_000;
const width = 32;
const watchers = 50;
const updates = 1_000;
const watchedUpdates = 60;

/** One engine under load, with what was measured of it. */
interface Subject {
  readonly engine: BenchEngine;
  readonly agent: Agent;
  readonly results: Map<string, number[]>;
  created: number;
  readonly pending: Map<string, { began: number; seen: number[]; done: () => void }>;
}

function call(subject: Subject, method: string, path: string, body?: unknown): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const sent = request(
      `${subject.engine.url}${path}`,
      { method, agent: subject.agent, headers },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const text = Buffer.concat(chunks);
          if ((answer.statusCode ?? 500) < 300) resolve(text);
          else
            reject(
              new Error(`${method} ${path}: ${answer.statusCode} ${text.toString('utf8').slice(0, 300)}`),
            );
        });
        answer.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const namespaceOf = (at: number) => `bench-${Math.floor(at / namespaceSize)}`;
const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
const objectOf = (at: number, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `object-${at}`,
    namespace: namespaceOf(at),
    labels: { app: 'bench', part: `${at % 10}` },
  },
  data: { value, filler: 'x'.repeat(500) },
});

function record(subject: Subject, what: string, value: number): void {
  const list = subject.results.get(what) ?? [];
  list.push(value);
  subject.results.set(what, list);
}

async function open(engine: BenchEngine): Promise<Subject> {
  const agent = new Agent({ ...engine.tls, keepAlive: true, maxSockets: width });
  const subject: Subject = { engine, agent, results: new Map(), created: 0, pending: new Map() };
  const namespaces = Math.ceil((rounds * perRound) / namespaceSize);
  for (const name of [...Array.from({ length: namespaces }, (_, at) => `bench-${at}`), 'bench-watched']) {
    await call(subject, 'POST', '/api/v1/namespaces', { metadata: { name } });
  }
  await call(subject, 'POST', configMaps('bench-watched'), {
    metadata: { name: 'watched' },
    data: { at: '0' },
  });
  for (let index = 0; index < watchers; index += 1) await watch(subject);
  return subject;
}

function watch(subject: Subject): Promise<void> {
  const { engine } = subject;
  const path = `${configMaps('bench-watched')}?watch=true&resourceVersion=0`;
  return new Promise((resolve, reject) => {
    // A connection of its own, as each client has.
    const agent = new Agent({ ...engine.tls, keepAlive: true });
    const sent = request(`${engine.url}${path}`, { agent }, (answer) => {
      resolve();
      let rest = '';
      answer.on('data', (chunk: Buffer) => {
        const now = performance.now();
        rest += chunk.toString('utf8');
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const at = /"at":"(\d+)"/.exec(line)?.[1] ?? '';
          const waiting = subject.pending.get(at);
          if (waiting === undefined) continue;
          waiting.seen.push(now - waiting.began);
          if (waiting.seen.length === watchers) waiting.done();
        }
      });
      answer.on('error', () => {});
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Milliseconds from the request of an update until the last of the watchers has it. */
async function watchLatency(subject: Subject, at: string): Promise<number> {
  const waiting = { began: performance.now(), seen: [] as number[], done: () => {} };
  const all = new Promise<void>((resolve) => {
    waiting.done = resolve;
  });
  subject.pending.set(at, waiting);
  const body = { metadata: { name: 'watched' }, data: { at } };
  await Promise.all([call(subject, 'PUT', `${configMaps('bench-watched')}/watched`, body), all]);
  subject.pending.delete(at);
  return Math.max(...waiting.seen);
}

async function round(subject: Subject, number: number): Promise<void> {
  // The other engine's round may have lasted longer than a server keeps an idle connection.
  subject.agent.destroy();
  const from = subject.created;
  const create = (at: number) =>
    call(subject, 'POST', configMaps(namespaceOf(from + at)), objectOf(from + at, 'first'));
  record(subject, 'creates a second', await rateOf(perRound, width, create));
  subject.created += perRound;
  const stride = Math.max(1, Math.floor(subject.created / updates));
  const update = (at: number) => {
    const which = (at * stride) % subject.created;
    return call(
      subject,
      'PUT',
      `${configMaps(namespaceOf(which))}/object-${which}`,
      objectOf(which, `${number}`),
    );
  };
  record(subject, 'updates a second', await rateOf(updates, width, update));
  record(subject, 'updates a second, one client', await rateOf(updates / 4, 1, update));
  const latencies: number[] = [];
  for (let at = 1; at <= watchedUpdates; at += 1) {
    latencies.push(await watchLatency(subject, String(number * 1_000_000 + at)));
  }
  record(subject, 'update to the last of 50 watchers, ms', median(latencies));
  if (subject.created < namespaceSize) return;
  const list = () => call(subject, 'GET', configMaps('bench-0'));
  record(
    subject,
    `list of ${namespaceSize}, ms`,
    median([await timed(list), await timed(list), await timed(list)]),
  );
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const subjects: Subject[] = [];
try {
  subjects.push(await open(await startEmbedded(dir)));
  if (!options['embedded-only']) subjects.push(await open(await startReal()));
  for (let number = 1; number <= rounds; number += 1) {
    // Turn about, so that neither always comes first.
    const order = number % 2 === 1 ? subjects : [...subjects].reverse();
    for (const subject of order) await round(subject, number);
    say(`round ${number} of ${rounds}`);
  }
  say(
    `${'median of the rounds'.padEnd(40)} ${subjects.map(({ engine }) => engine.name.padStart(10)).join(' ')}`,
  );
  for (const what of subjects[0]?.results.keys() ?? []) {
    const medians = subjects.map(({ results }) => median(results.get(what) ?? []));
    const [ours = Number.NaN, theirs] = medians;
    const ratio =
      theirs === undefined
        ? ''
        : ` ${(what.includes('ms') ? theirs / ours : ours / theirs).toFixed(2)} times as fast`;
    say(`${what.padEnd(40)} ${medians.map((value) => value.toFixed(1).padStart(10)).join(' ')}${ratio}`);
  }
} finally {
  for (const { engine } of subjects) await engine.close();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
