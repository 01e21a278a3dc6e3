import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, samplesMax } from './metrics.ts';
import { observeProcess } from './process-metrics.ts';

test('families stand in the order of their names, in the text format of Prometheus', async () => {
  const metrics = createMetrics();
  const answers = metrics.counter('sluice_answers_total', 'Answers.\nBy status.', ['status']);
  const lag = metrics.gauge('sluice_a_lag_seconds', 'How late.');
  answers.add({ status: '200' });
  answers.add({ status: '200' }, 2);
  answers.add({ status: 'a "b"\\\n' });
  lag.set({}, 0.25);
  assert.equal(
    await metrics.render(),
    `# HELP sluice_a_lag_seconds How late.
# TYPE sluice_a_lag_seconds gauge
sluice_a_lag_seconds 0.25
# HELP sluice_answers_total Answers.\\nBy status.
# TYPE sluice_answers_total counter
sluice_answers_total{status="200"} 3
sluice_answers_total{status="a \\"b\\"\\\\\\n"} 1
`,
  );
});

test('a histogram counts every value in each bucket that holds it', async () => {
  const metrics = createMetrics();
  const took = metrics.histogram('sluice_took_seconds', 'Time.', [0.1, 1], ['verb']);
  for (const value of [0.1, 0.5, 7]) took.observe({ verb: 'get' }, value);
  const lines = (await metrics.render()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
  assert.deepEqual(lines, [
    'sluice_took_seconds_bucket{verb="get",le="0.1"} 1',
    'sluice_took_seconds_bucket{verb="get",le="1"} 2',
    'sluice_took_seconds_bucket{verb="get",le="+Inf"} 3',
    'sluice_took_seconds_sum{verb="get"} 7.6',
    'sluice_took_seconds_count{verb="get"} 3',
  ]);
});

test('gauges are read when they are asked for, and what is gone is no longer shown', async () => {
  const metrics = createMetrics();
  const holds = metrics.gauge('sluice_holds', 'What holds.', ['gate']);
  let now: [{ gate: string }, number | undefined][] = [[{ gate: 'marker' }, 1]];
  metrics.beforeRender(async () => holds.replace(now));
  metrics.beforeRender(() => {
    throw new Error('cannot be read');
  });
  assert.match(await metrics.render(), /sluice_holds\{gate="marker"\} 1/);
  now = [
    [{ gate: 'slot' }, 2],
    [{ gate: 'users' }, undefined],
  ];
  const second = await metrics.render();
  assert.match(second, /sluice_holds\{gate="slot"\} 2/);
  assert.doesNotMatch(second, /marker|users/);
});

test('a name that is taken or breaks the conventions is refused, and labels cannot fill the memory', async () => {
  const metrics = createMetrics();
  const one = metrics.counter('sluice_a_total', 'A.', ['x']);
  assert.throws(() => metrics.gauge('sluice_a', 'A.', ['X y']), /no name/);
  assert.throws(() => metrics.counter('sluice_a_total', 'A.'), /twice/);
  assert.throws(() => metrics.counter('sluice_b', 'B.'), /_total/);
  assert.throws(() => metrics.gauge('sluice_b_total', 'B.'), /_total/);
  for (let index = 0; index < samplesMax + 10; index += 1) one.add({ x: String(index) });
  assert.equal((await metrics.render()).match(/^sluice_a_total/gm)?.length, samplesMax);
});

test('a process tells its version, memory, processor time and files', async () => {
  const metrics = createMetrics();
  observeProcess(metrics, { version: '1.2.3', commit: 'abc' });
  const text = await metrics.render();
  assert.match(text, /^sluice_build_info\{version="1.2.3",commit="abc"\} 1$/m);
  for (const name of [
    'process_resident_memory_bytes',
    'process_open_fds',
    'process_max_fds',
    'process_cpu_seconds_total',
  ]) {
    assert.ok(Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) > 0, name);
  }
  const started = Number(/^process_start_time_seconds (\S+)$/m.exec(text)?.[1]);
  assert.ok(Math.abs(started - (Date.now() / 1000 - process.uptime())) < 5);
});
