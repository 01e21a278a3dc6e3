import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { run } from '../src/process/run.ts';
import { freePort } from '../src/up/network.ts';
import { type OneNode, startOneNode } from './one-node.ts';
import { until } from './systemd/host.ts';
import { needs, repository } from './tier.ts';

interface Family {
  readonly type: string;
  readonly labels: Set<string>;
  readonly by: Set<string>;
}

const families = new Map<string, Family>();
let up: OneNode;

/** Reads what one command told. Throws where it is not the text format. */
function scrape(by: string, text: string): void {
  for (const line of text.trim().split('\n')) {
    const declared = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (declared?.[1] !== undefined) {
      const known = families.get(declared[1]);
      if (known !== undefined) known.by.add(by);
      else families.set(declared[1], { type: declared[2] ?? '', labels: new Set(), by: new Set([by]) });
      continue;
    }
    if (line.startsWith('# HELP ')) continue;
    assert.match(line, /^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+\w.]+$/, `${by}: ${line}`);
    const [, name = '', labels = ''] = /^([a-z_]+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /.exec(line) ?? [];
    const family = families.get(name) ?? families.get(/^[a-z_]+/.exec(line)?.[0] ?? '');
    assert.ok(family !== undefined, `${by}: ${line} has no type`);
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)=/g)) family.labels.add(label);
  }
}

before(async () => {
  up = await startOneNode();
  const lock = await lockPort();
  scrape('controller', await (await fetch(`http://127.0.0.1:${lock}/metrics`)).text());
  scrape('apiserver', (await up.client.raw({ path: '/metrics' })) as string);
  scrape('node', await dump(join(up.cluster, 'nodes', 'master-0', 'run', 'public', 'metrics.promsock')));
  scrape('registry', await registryMetrics());
});
after(() => up.close());

async function lockPort(): Promise<string> {
  const { stdout } = await run('ps', ['-eo', 'args']);
  const line = stdout.split('\n').find((each) => each.includes(' controller ') && each.includes(up.cluster));
  const port = /--lock-listen 127\.0\.0\.1:(\d+)/.exec(line ?? '')?.[1];
  assert.ok(port !== undefined, line);
  return port;
}

function dump(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path);
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

/** The registry of a node says it where it is told to: here one of its own, over the same store. */
async function registryMetrics(): Promise<string> {
  const [port, status] = [await freePort(), await freePort()];
  const store = join(up.cluster, 'nodes', 'master-0', 'store');
  const words = ['registry', 'serve', '--store', store, '--listen', `127.0.0.1:${port}`];
  const child = spawn(join(repository, 'sluice'), [...words, '--status-listen', `127.0.0.1:${status}`]);
  let text = '';
  const ask = async () => {
    await fetch(`http://127.0.0.1:${port}/v2/`).catch(() => {});
    text = await fetch(`http://127.0.0.1:${status}/metrics`)
      .then((answer) => answer.text())
      .catch(() => '');
  };
  const asking = setInterval(() => void ask(), 200);
  try {
    await until(
      () => text.includes('sluice_registry_requests_total{'),
      () => text,
    );
    return text;
  } finally {
    clearInterval(asking);
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

/** The table of docs/running.md. */
function documentedMetrics() {
  const page = readFileSync(join(repository, 'docs', 'running.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `((?:sluice|process|nodejs)_\w+)`(?: \(([\w, ]+)\))? \| (\w+) \|/gm)];
  return new Map(
    rows.map(([, name = '', labels = '', type = '']) => [
      name,
      { labels: labels.split(', ').filter(Boolean), type },
    ]),
  );
}

test('every metric that a command tells is in docs/running.md, with its labels, and no other', () => {
  const documented = documentedMetrics();
  const missing = [...families.keys()].filter((name) => !documented.has(name));
  assert.deepEqual(missing, [], 'told, and not in the table');
  assert.deepEqual(
    [...documented.keys()].filter((name) => !families.has(name)),
    [],
    'in the table, and never told',
  );
  for (const [name, family] of families) {
    const row = documented.get(name);
    assert.equal(row?.type, family.type, name);
    const known = new Set(row?.labels);
    for (const label of family.labels)
      assert.ok(known.has(label) || label === 'le', `${name} has a label ${label}`);
  }
});

test('names and units follow the conventions of Prometheus', () => {
  assert.ok(families.size > 40, `${families.size} families`);
  for (const [name, { type, by }] of families) {
    assert.match(name, /^(sluice|process|nodejs)_[a-z_]+$/, name);
    assert.doesNotMatch(name, /_(milliseconds|ms|minutes|hours|days|mib|kib|percent)(_|$)/, name);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    if (/(^|_)(time|timestamp|duration|age)(_|$)/.test(name)) assert.match(name, /_seconds$/, name);
    if (name.startsWith('process_'))
      assert.equal(by.size, 4, `${name} is told by ${[...by].join(', ')} alone`);
  }
});

/** Names of metrics in an expression: words with our prefixes. */
function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:sluice|process|nodejs)_[a-z_]+\b/g)].map(([name]) => name);
}

function assertKnown(where: string, expression: string): void {
  const documented = documentedMetrics();
  const names = metricsIn(expression);
  assert.ok(names.length > 0, `${where} names no metric: ${expression}`);
  for (const name of names) {
    const plain = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    assert.ok(families.has(plain), `${where} names ${name}, which nothing tells`);
    // What had no reason to be told yet has its labels in the table alone.
    const known = documented.get(plain)?.labels ?? [];
    const labels = new RegExp(`${name}\\{([^}]*)\\}`).exec(expression)?.[1] ?? '';
    for (const [, label = ''] of labels.matchAll(/(\w+)\s*[=!]/g)) {
      // These are given by Prometheus itself.
      if (label === 'job' || label === 'instance') continue;
      assert.ok(known.includes(label), `${where}: ${name} has no label ${label}`);
    }
  }
}

test('alert rules and dashboard name what a real scrape has, and each alert is in docs/running.md', () => {
  const place = join(repository, 'deploy', 'monitoring');
  const rules = parse(readFileSync(join(place, 'rules.yaml'), 'utf8')) as {
    groups: {
      rules: { alert: string; expr: string; annotations: { summary: string; description: string } }[];
    }[];
  };
  const page = readFileSync(join(repository, 'docs', 'running.md'), 'utf8');
  const alerts = rules.groups.flatMap((group) => group.rules);
  assert.ok(alerts.length >= 15, `${alerts.length} alerts`);
  for (const { alert, expr, annotations } of alerts) {
    assertKnown(alert, expr);
    assert.ok(annotations.summary !== '' && annotations.description !== '', alert);
    assert.ok(page.includes(`\`${alert}\``), `${alert} is not in docs/running.md`);
  }
  const board = JSON.parse(readFileSync(join(place, 'dashboard.json'), 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  assert.ok(board.panels.length >= 12);
  for (const { title, targets } of board.panels) for (const { expr } of targets) assertKnown(title, expr);
});

test('promtool takes the rules', needs('promtool'), async () => {
  const { code, stdout, stderr } = await run('promtool', [
    ...['check', 'rules', join(repository, 'deploy', 'monitoring', 'rules.yaml')],
  ]);
  assert.equal(code, 0, stdout + stderr);
});

test('health: what is alive, ready and why', async () => {
  const lock = await lockPort();
  for (const path of ['livez', 'readyz', 'healthz']) {
    const answer = await fetch(`http://127.0.0.1:${lock}/${path}?verbose`);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), new RegExp(`${path} check passed`));
  }
});

test('the lock of a rehearsal lets in nobody without its secret, root of this machine neither', async () => {
  const url = `http://127.0.0.1:${await lockPort()}/v1/steady-state`;
  const ask = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ client_params: { id: 'a'.repeat(32), group: 'default' } });
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'fleet-lock-protocol': 'true', ...headers },
      body,
    });
    return answer.status;
  };
  assert.equal(await ask({}), 401);
  assert.equal(await ask({ authorization: 'Bearer something-else-altogether' }), 401);
  const file = join(up.cluster, 'lock-secret');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(await ask({ authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` }), 200);
  const rule = await readFile(join(up.cluster, 'nodes', 'master-0', 'config.d', '50-up.toml'), 'utf8');
  assert.ok(rule.includes(`secret_file = ${JSON.stringify(file)}`), rule);
});
