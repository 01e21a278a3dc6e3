import {
  defaultConfig,
  type FinalizeConfig,
  type Mode,
  modes,
  type StrategyName,
  strategyNames,
} from './config.ts';
import { unknownVariable, variableNames } from './url-template.ts';
import type { WeeklyWindow } from './weekly.ts';
import { minutesOfWeek } from './weekly.ts';

/** Puts a value into the configuration, or says in words why it is none. */
type Key = (value: unknown, config: FinalizeConfig) => string | undefined;

/** An empty one is the default, as in zincati. */
const groupForm = /^[a-zA-Z0-9.-]*$/;
const secondsMax = 366 * 24 * 3600;

function flag(set: (config: FinalizeConfig, value: boolean) => void): Key {
  return (value, config) => {
    if (typeof value !== 'boolean') return 'must be true or false';
    set(config, value);
    return undefined;
  };
}

function text(form: RegExp, must: string, set: (config: FinalizeConfig, value: string) => void): Key {
  return (value, config) => {
    if (typeof value !== 'string' || !form.test(value)) return must;
    set(config, value);
    return undefined;
  };
}

function seconds(least: number, set: (config: FinalizeConfig, ms: number) => void): Key {
  return (value, config) => {
    const count = typeof value === 'bigint' ? Number(value) : value;
    if (typeof count !== 'number' || !Number.isInteger(count) || count < least || count > secondsMax) {
      return `must be a whole number of seconds, ${least} to ${secondsMax}`;
    }
    set(config, count * 1000);
    return undefined;
  };
}

function url(set: (config: FinalizeConfig, value: string) => void): Key {
  return (value, config) => {
    if (value === '') {
      set(config, value); // As in zincati it is none; a strategy that needs it says so.
      return undefined;
    }
    if (typeof value !== 'string' || !/^https?:\/\/[^\s]+$/.test(value))
      return 'must be an http or https URL';
    const unknown = unknownVariable(value);
    if (unknown !== undefined)
      return `has the unknown variable '${unknown}'; known are ${variableNames.join(', ')}`;
    set(config, value);
    return undefined;
  };
}

const path = /^\/[^\0]*$/;

/**
 * Every key that has an effect: zincati's own (docs/usage/agent-*.md of zincati), then ours. What is not here is
 * reported as having none.
 */
export const configKeys: Readonly<Record<string, Key>> = {
  'agent.timing.steady_interval_secs': seconds(1, (config, ms) => {
    config.steadyIntervalMs = ms;
  }),
  'cincinnati.base_url': url((config, value) => {
    config.cincinnati = { ...config.cincinnati, baseUrl: value };
  }),
  'identity.group': text(groupForm, 'must match ^[a-zA-Z0-9.-]+$', (config, value) => {
    config.identity = { ...config.identity, group: value === '' ? defaultConfig.identity.group : value };
  }),
  'identity.node_uuid': text(
    /^$|^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/,
    'must be 32 hexadecimal digits, dashes allowed',
    (config, value) => {
      const nodeUuid = value.replaceAll('-', '').toLowerCase();
      const { nodeUuid: _, ...rest } = config.identity;
      config.identity = nodeUuid === '' ? rest : { ...rest, nodeUuid };
    },
  ),
  'identity.rollout_wariness': (value, config) => {
    const wariness = typeof value === 'bigint' ? Number(value) : value;
    if (typeof wariness !== 'number' || !(wariness >= 0 && wariness <= 1)) return 'must be 0.0 to 1.0';
    config.identity = { ...config.identity, rolloutWariness: wariness };
    return undefined;
  },
  'updates.enabled': flag((config, value) => {
    config.enabled = value;
  }),
  'updates.allow_downgrade': flag((config, value) => {
    config.allowDowngrade = value;
  }),
  'updates.strategy': strategy,
  'updates.fleet_lock.base_url': url((config, value) => {
    config.fleetLock = { ...config.fleetLock, baseUrl: value };
  }),
  'updates.periodic.time_zone': text(
    /^[\w+/-]{1,64}$/,
    'must be the name of a time zone',
    (config, value) => {
      config.periodic = { ...config.periodic, timeZone: value };
    },
  ),
  'updates.periodic.window': windows,

  'identity.stream': text(/^[\w.-]{1,64}$/, 'must be the name of a stream', (config, value) => {
    config.identity = { ...config.identity, stream: value };
  }),
  'updates.mode': (value, config) => {
    if (!modes.includes(value as Mode)) return `must be one of ${modes.join(', ')}`;
    config.mode = value as Mode;
    return undefined;
  },
  'updates.marker': (value, config) => {
    if (value !== 'override' && value !== 'none') return "must be 'override' or 'none'";
    config.marker = { ...config.marker, overridesWindow: value === 'override' };
    return undefined;
  },
  'updates.marker_file.path': text(path, 'must be an absolute path', (config, value) => {
    config.marker = { ...config.marker, path: value };
  }),
  'updates.marker_file.allow_without_expiry': flag((config, value) => {
    config.marker = { ...config.marker, allowWithoutExpiry: value };
  }),
  'updates.periodic.jitter_secs': seconds(0, (config, ms) => {
    config.periodic = { ...config.periodic, jitterMs: ms };
  }),
  'updates.fleet_lock.min_ready_secs': seconds(0, (config, ms) => {
    config.fleetLock = { ...config.fleetLock, minReadyMs: ms };
  }),
  'updates.fleet_lock.secret_file': text(path, 'must be an absolute path', (config, value) => {
    config.fleetLock = { ...config.fleetLock, secretFile: value };
  }),
  'cincinnati.allow_http': flag((config, value) => {
    config.cincinnati = { ...config.cincinnati, allowHttp: value };
  }),
  'agent.clock': (value, config) => {
    if (value !== 'trusted' && value !== 'synchronized') return "must be 'synchronized' or 'trusted'";
    config.clockTrusted = value === 'trusted';
    return undefined;
  },
  'agent.first_boot_secs': seconds(0, (config, ms) => {
    config.blockers = { ...config.blockers, firstBootMs: ms };
  }),
  'agent.block_weak': flag((config, value) => {
    config.blockers = { ...config.blockers, blockWeak: value };
  }),
  'agent.hooks.directory': text(path, 'must be an absolute path', (config, value) => {
    config.blockers = { ...config.blockers, hooksDirectory: value };
  }),
  'agent.hooks.timeout_secs': seconds(1, (config, ms) => {
    config.blockers = { ...config.blockers, hookTimeoutMs: ms };
  }),
};

/** One name, or a list of them that must all allow. An unknown one must never become a looser one. */
function strategy(value: unknown, config: FinalizeConfig): string | undefined {
  const names = typeof value === 'string' ? [value === '' ? 'immediate' : value] : value;
  if (!Array.isArray(names) || names.length === 0) return 'must be a strategy or a list of them';
  const unknown = names.find((name) => !strategyNames.includes(name));
  if (unknown !== undefined) return `'${unknown}' is no strategy; known are ${strategyNames.join(', ')}`;
  config.strategies = names as StrategyName[];
  return undefined;
}

/** As zincati merges them, the windows of all files add up; only a mask takes some away. */
function windows(value: unknown, config: FinalizeConfig): string | undefined {
  if (!Array.isArray(value)) return 'must be tables: [[updates.periodic.window]]';
  const found: WeeklyWindow[] = [];
  for (const [index, each] of value.entries()) {
    const parsed = parseWindow(each);
    if (typeof parsed === 'string') return `${index + 1}: ${parsed}`;
    found.push(...parsed);
  }
  config.periodic = { ...config.periodic, windows: [...config.periodic.windows, ...found] };
  return undefined;
}

const dayNames = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** A table `{days, start_time, length_minutes}`, all three of them: the window that begins on each of the days. */
export function parseWindow(value: unknown): readonly WeeklyWindow[] | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a table';
  const { days, start_time, length_minutes, ...others } = value as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `the key '${unknown}' is not known`;
  if (!Array.isArray(days) || days.length === 0) return 'days must be a list of days';
  const time = typeof start_time === 'string' ? /^(\d{1,2}):(\d{1,2})$/.exec(start_time) : null;
  const [hour, minute] = [Number(time?.[1]), Number(time?.[2])];
  if (time === null || hour > 23 || minute > 59) return 'start_time must be a time such as "03:30"';
  const length = typeof length_minutes === 'bigint' ? Number(length_minutes) : length_minutes;
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 1 || length > minutesOfWeek) {
    return `length_minutes must be 1 to ${minutesOfWeek}`;
  }
  const found: WeeklyWindow[] = [];
  for (const day of days) {
    const name = typeof day === 'string' ? day.toLowerCase() : '';
    const index = dayNames.findIndex((full) => full === name || full.slice(0, 3) === name);
    if (index === -1) return `'${day}' is no day of the week`;
    found.push({ startMinute: index * 1440 + hour * 60 + minute, lengthMinutes: length });
  }
  return found;
}
