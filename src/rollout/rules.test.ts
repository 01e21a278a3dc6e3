import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitFor, parseRules, poolOf, poolRuleDefault } from './rules.ts';

test('the pool of a node is the one that it names, its own role, or the workers', () => {
  const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
  assert.equal(poolOf({}), 'worker');
  assert.equal(poolOf(role('worker')), 'worker');
  assert.equal(poolOf({ ...role('worker'), ...role('infra') }), 'infra');
  assert.equal(poolOf({ ...role('infra'), 'sluice.dev/pool': 'edge' }), 'edge');
});

test('rules of pools, as people write them', () => {
  const { pools, problems } = parseRules({
    worker: 'maxUnavailable: 10%\ncanaries: [worker-3]\n',
    edge: 'maxUnavailable: 2\npaused: true\n',
    plain: '',
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(pools.get('worker'), { maxUnavailable: '10%', canaries: ['worker-3'], paused: false });
  assert.deepEqual(pools.get('edge'), { maxUnavailable: 2, canaries: 1, paused: true });
  assert.deepEqual(pools.get('plain'), poolRuleDefault);
  assert.equal(parseRules(undefined).pools.size, 0);
});

for (const text of [
  'maxUnavailable: 0',
  'maxUnavailable: 110%',
  'canaries: -1',
  'paused: maybe',
  'max: 1',
  '[',
  'x',
]) {
  test(`a rule that cannot be read pauses its pool: ${text}`, () => {
    const { pools, problems } = parseRules({ worker: text });
    assert.equal(pools.get('worker')?.paused, true);
    assert.match(problems[0] ?? '', /ConfigMap sluice-rollout, pool worker: .*; the pool is paused/);
  });
}

test('a limit in percent is of the pool, and at least one', () => {
  assert.equal(limitFor({ ...poolRuleDefault, maxUnavailable: '10%' }, 59), 5);
  assert.equal(limitFor({ ...poolRuleDefault, maxUnavailable: '10%' }, 3), 1);
});
