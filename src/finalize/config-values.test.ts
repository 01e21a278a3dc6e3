import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig, type LoadedConfig } from './config.ts';
import { configKeys } from './config-keys.ts';
import { defaultsInForce, valuesInForce } from './config-values.ts';

/** A value for each key that is not its default, as a file says it. */
const samples: Readonly<Record<string, unknown>> = {
  'agent.block_weak': true,
  'agent.clock': 'trusted',
  'agent.first_boot_secs': 7,
  'agent.hooks.directory': '/hooks',
  'agent.hooks.timeout_secs': 8,
  'agent.timing.steady_interval_secs': 9,
  'cincinnati.allow_http': true,
  'cincinnati.base_url': 'https://graph',
  'identity.group': 'workers',
  'identity.node_uuid': '0123456789abcdef0123456789abcdef',
  'identity.rollout_wariness': 0.25,
  'identity.stream': 'next',
  'updates.allow_downgrade': true,
  'updates.enabled': false,
  'updates.fleet_lock.base_url': 'https://lock/',
  'updates.fleet_lock.min_ready_secs': 10,
  'updates.fleet_lock.secret_file': '/secret',
  'updates.marker': 'override',
  'updates.marker_file.allow_without_expiry': true,
  'updates.marker_file.path': '/marker',
  'updates.mode': 'stage',
  'updates.periodic.jitter_secs': 11,
  'updates.periodic.time_zone': 'Europe/Berlin',
  'updates.strategy': ['periodic', 'fleet_lock'],
};

test('what is in force of each key is what a file said, in its own words and units', () => {
  const withoutWindows = Object.keys(configKeys).filter((key) => key !== 'updates.periodic.window');
  assert.deepEqual(Object.keys(samples), withoutWindows.sort(), 'every key is tried');
  assert.deepEqual(Object.keys(valuesInForce).sort(), Object.keys(configKeys).sort());
  for (const [key, value] of Object.entries(samples)) {
    const config = structuredClone(defaultConfig);
    assert.notDeepEqual(valuesInForce[key]?.(config), value, `${key}: the sample is no default`);
    assert.equal(configKeys[key]?.(value, config), undefined, key);
    assert.deepEqual(valuesInForce[key]?.(config), value, key);
  }
});

test('a key that a file sets is no default, and one that means nothing is not shown', () => {
  const said = { key: 'updates.mode', value: 'stage', path: '/etc/a.toml', line: 2 };
  const loaded: LoadedConfig = { config: defaultConfig, values: [said], problems: [], warnings: [] };
  const shown = defaultsInForce(loaded).map(({ key }) => key);
  assert.ok(!shown.includes('updates.mode') && !shown.includes('identity.stream'), shown.join());
  assert.deepEqual(
    defaultsInForce(loaded).find(({ key }) => key === 'updates.strategy'),
    { key: 'updates.strategy', value: 'immediate' },
  );
});
