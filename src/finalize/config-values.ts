import type { ConfigValue, FinalizeConfig, LoadedConfig } from './config.ts';
import { configKeys } from './config-keys.ts';

/** What is in force of each key, in the words and units in which a file says it; undefined where it is not set. */
export const valuesInForce: Readonly<Record<string, (config: FinalizeConfig) => unknown>> = {
  'agent.block_weak': ({ blockers }) => blockers.blockWeak,
  'agent.clock': ({ clockTrusted }) => (clockTrusted ? 'trusted' : 'synchronized'),
  'agent.first_boot_secs': ({ blockers }) => blockers.firstBootMs / 1000,
  'agent.hooks.directory': ({ blockers }) => blockers.hooksDirectory,
  'agent.hooks.timeout_secs': ({ blockers }) => blockers.hookTimeoutMs / 1000,
  'agent.timing.steady_interval_secs': ({ steadyIntervalMs }) => steadyIntervalMs / 1000,
  'cincinnati.allow_http': ({ cincinnati }) => cincinnati.allowHttp,
  'cincinnati.base_url': ({ cincinnati }) => cincinnati.baseUrl,
  'identity.group': ({ identity }) => identity.group,
  'identity.node_uuid': ({ identity }) => identity.nodeUuid,
  'identity.rollout_wariness': ({ identity }) => identity.rolloutWariness,
  'identity.stream': ({ identity }) => identity.stream,
  'updates.allow_downgrade': ({ allowDowngrade }) => allowDowngrade,
  'updates.enabled': ({ enabled }) => enabled,
  'updates.fleet_lock.base_url': ({ fleetLock }) => fleetLock.baseUrl,
  'updates.fleet_lock.min_ready_secs': ({ fleetLock }) => fleetLock.minReadyMs / 1000,
  'updates.fleet_lock.secret_file': ({ fleetLock }) => fleetLock.secretFile,
  'updates.marker': ({ marker }) => (marker.overridesWindow ? 'override' : 'none'),
  'updates.marker_file.allow_without_expiry': ({ marker }) => marker.allowWithoutExpiry,
  'updates.marker_file.path': ({ marker }) => marker.path,
  'updates.mode': ({ mode }) => mode,
  'updates.periodic.jitter_secs': ({ periodic }) => periodic.jitterMs / 1000,
  'updates.periodic.time_zone': ({ periodic }) => periodic.timeZone,
  // Each window has its own line where a file says it; there is none by default.
  'updates.periodic.window': () => undefined,
  'updates.strategy': ({ strategies }) => (strategies.length === 1 ? strategies[0] : strategies),
};

/** Keys that no file sets, with what counts for them. Pure. */
export function defaultsInForce({
  config,
  values,
}: LoadedConfig): readonly Pick<ConfigValue, 'key' | 'value'>[] {
  const said = new Set(values.map(({ key }) => key));
  return Object.keys(configKeys)
    .filter((key) => !said.has(key))
    .map((key) => ({ key, value: valuesInForce[key]?.(config) }))
    .filter(({ value }) => value !== undefined && value !== '')
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}
