import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, systemCode } from '../errors/error.ts';

export type StrategyName = 'immediate' | 'marker_file' | 'fleet_lock';

/** What a node's configuration asks for. */
export interface FinalizeConfig {
  /** All of them must allow. */
  readonly strategies: readonly StrategyName[];
  readonly enabled: boolean;
  readonly marker: { readonly path: string; readonly allowWithoutExpiry: boolean };
  readonly fleetLock: { readonly baseUrl: string; readonly group: string };
  readonly steadyIntervalMs: number;
  /** Whether a person has declared the clock right (agent.clock = "trusted"). */
  readonly clockTrusted: boolean;
}

/** The configuration and everything about it that a person must be told. */
export interface LoadedConfig {
  readonly config: FinalizeConfig;
  /** What makes it unusable: then nothing is finalized (case B66). File and place are named. */
  readonly problems: readonly string[];
  /** What was read and has no effect: unknown keys, ignored files (case B10). */
  readonly warnings: readonly string[];
}

export const defaultConfig: FinalizeConfig = {
  strategies: ['immediate'],
  enabled: true,
  marker: { path: '/var/lib/sluice/allowfinalize.json', allowWithoutExpiry: false },
  fleetLock: { baseUrl: '', group: 'default' },
  steadyIntervalMs: 300_000,
  clockTrusted: false,
};

/** Directories of drop-ins; a later one wins for an equal file name (docs/decisions, configuration). */
export const configDirectories = [
  '/usr/lib/zincati/config.d',
  '/run/zincati/config.d',
  '/etc/zincati/config.d',
  '/usr/lib/sluice/config.d',
  '/run/sluice/config.d',
  '/etc/sluice/config.d',
] as const;

interface Fragment {
  readonly path: string;
  readonly text: string;
}

/** Reads `*.toml` of all directories: unique by name (later directory wins), then in byte order of the names. */
export async function loadConfig(directories: readonly string[]): Promise<LoadedConfig> {
  const byName = new Map<string, string>();
  const warnings: string[] = [];
  const problems: string[] = [];
  for (const directory of directories) {
    let names: string[];
    try {
      names = await readdir(directory);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') problems.push(`${directory} cannot be read: ${messageOf(error)}`);
      continue;
    }
    for (const name of names) {
      const path = join(directory, name);
      if (name.startsWith('.')) continue;
      if (!name.endsWith('.toml')) {
        warnings.push(`${path} is ignored: its name does not end in .toml`);
        continue;
      }
      if (await isMask(path)) byName.delete(name);
      else byName.set(name, path);
    }
  }
  const fragments: Fragment[] = [];
  for (const [, path] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1))) {
    try {
      fragments.push({ path, text: await readFile(path, 'utf8') });
    } catch (error) {
      problems.push(`${path} cannot be read: ${messageOf(error)}`);
    }
  }
  const { parse } = await import('smol-toml');
  const merged = mergeFragments(fragments, parse);
  return {
    config: merged.config,
    problems: [...problems, ...merged.problems],
    warnings: [...warnings, ...merged.warnings],
  };
}

/** A link to /dev/null hides the file of that name in the directories before it. */
async function isMask(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isSymbolicLink() && (await readlink(path)) === '/dev/null';
}

type Rule = (value: unknown) => { readonly set: (config: Draft) => void } | { readonly problem: string };
type Draft = { -readonly [Key in keyof FinalizeConfig]: FinalizeConfig[Key] };

const strategyNames: readonly string[] = ['immediate', 'marker_file', 'fleet_lock'];
const groupForm = /^[a-zA-Z0-9.-]+$/;

/** Every key that is understood, and what it must be. */
const rules: Record<string, Rule> = {
  'updates.enabled': (value) =>
    typeof value === 'boolean'
      ? {
          set: (draft) => {
            draft.enabled = value;
          },
        }
      : { problem: 'must be true or false' },
  'updates.strategy': (value) => {
    const names = typeof value === 'string' ? [value === '' ? 'immediate' : value] : value;
    if (!Array.isArray(names) || names.length === 0)
      return { problem: 'must be a strategy or a list of them' };
    // Case B40: an unknown strategy must never become a looser one.
    const unknown = names.find((name) => !strategyNames.includes(name));
    if (unknown !== undefined)
      return { problem: `'${unknown}' is no strategy; known are ${strategyNames.join(', ')}` };
    return {
      set: (draft) => {
        draft.strategies = names as StrategyName[];
      },
    };
  },
  'updates.marker_file.path': (value) =>
    typeof value === 'string' && value.startsWith('/')
      ? {
          set: (draft) => {
            draft.marker = { ...draft.marker, path: value };
          },
        }
      : { problem: 'must be an absolute path' },
  'updates.marker_file.allow_without_expiry': (value) =>
    typeof value === 'boolean'
      ? {
          set: (draft) => {
            draft.marker = { ...draft.marker, allowWithoutExpiry: value };
          },
        }
      : { problem: 'must be true or false' },
  'updates.fleet_lock.base_url': (value) =>
    typeof value === 'string' && /^https?:\/\//.test(value)
      ? {
          set: (draft) => {
            draft.fleetLock = { ...draft.fleetLock, baseUrl: value };
          },
        }
      : { problem: 'must be an http or https URL' },
  'identity.group': (value) =>
    typeof value === 'string' && groupForm.test(value)
      ? {
          set: (draft) => {
            draft.fleetLock = { ...draft.fleetLock, group: value };
          },
        }
      : { problem: 'must match ^[a-zA-Z0-9.-]+$' },
  'agent.timing.steady_interval_secs': (value) =>
    typeof value === 'number' && Number.isInteger(value) && value > 0
      ? {
          set: (draft) => {
            draft.steadyIntervalMs = value * 1000;
          },
        }
      : { problem: 'must be a whole number of seconds above 0' },
  'agent.clock': (value) =>
    value === 'trusted' || value === 'synchronized'
      ? {
          set: (draft) => {
            draft.clockTrusted = value === 'trusted';
          },
        }
      : { problem: "must be 'synchronized' or 'trusted'" },
};

/** Merges fragments in their order: the last word of a key wins. Pure but for the parser that is passed in. */
export function mergeFragments(
  fragments: readonly Fragment[],
  parse: (text: string) => object,
): LoadedConfig {
  const draft: Draft = { ...defaultConfig };
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const { path, text } of fragments) {
    let document: object;
    try {
      document = parse(text);
    } catch (error) {
      const { line, column } = error as { line?: number; column?: number };
      const first = messageOf(error).split('.')[0];
      problems.push(`${path}${line === undefined ? '' : `:${line}:${column ?? 1}`}: ${first}`);
      continue;
    }
    for (const [key, value] of leaves(document)) {
      const rule = rules[key];
      if (rule === undefined) {
        warnings.push(`${path}: the key ${key} has no effect here`);
        continue;
      }
      const outcome = rule(value);
      if ('problem' in outcome) problems.push(`${path}: ${key} ${outcome.problem}`);
      else outcome.set(draft);
    }
  }
  if (draft.strategies.includes('fleet_lock') && draft.fleetLock.baseUrl === '') {
    problems.push('the strategy fleet_lock needs updates.fleet_lock.base_url');
  }
  return { config: draft, problems, warnings };
}

function* leaves(value: object, prefix = ''): Generator<[string, unknown]> {
  for (const [key, child] of Object.entries(value)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    const table =
      typeof child === 'object' && child !== null && !Array.isArray(child) && !(child instanceof Date);
    if (table && rules[path] === undefined) yield* leaves(child, path);
    else yield [path, child];
  }
}
