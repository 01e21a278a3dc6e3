import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, systemCode } from '../errors/error.ts';
import { type ConfigValue, defaultConfig, type FinalizeConfig, type LoadedConfig } from './config.ts';
import { configKeys } from './config-keys.ts';
import { keyLines, lineOf } from './toml-lines.ts';
import { loadZone, localZoneName } from './zone.ts';

/** Bytes of a drop-in; one is a page of text. */
const fragmentBytesMax = 256 * 1024;

interface Fragment {
  readonly path: string;
  readonly text: string;
}

interface Found {
  readonly fragments: readonly Fragment[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Reads the drop-ins and merges them. Never throws: what is wrong is said in the result. */
export async function loadConfig(directories: readonly string[]): Promise<LoadedConfig> {
  const found = await findFragments(directories);
  const { parse } = await import('smol-toml');
  const merged = mergeFragments(found.fragments, parse);
  const zone = await zoneOf(merged.config);
  return {
    config: zone.config,
    values: merged.values,
    problems: [...found.problems, ...merged.problems, ...zone.problems],
    warnings: [...found.warnings, ...merged.warnings],
  };
}

/** The files that count: unique by name, a later directory wins, in the byte order of their names. */
async function findFragments(directories: readonly string[]): Promise<Found> {
  const byName = new Map<string, string>();
  const warnings: string[] = [];
  const problems: string[] = [];
  for (const directory of directories) {
    let names: string[];
    try {
      names = (await readdir(directory)).sort();
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') problems.push(`${directory} cannot be read: ${messageOf(error)}`);
      continue;
    }
    for (const name of names) {
      const path = join(directory, name);
      if (name.startsWith('.')) {
        warnings.push(`${path} is ignored: its name begins with a dot`);
      } else if (!name.endsWith('.toml')) {
        warnings.push(`${path} is ignored: its name does not end in .toml`);
      } else {
        const before = byName.get(name);
        if (before !== undefined) warnings.push(`${before} is replaced by ${path}`);
        if (await isMask(path)) byName.delete(name);
        else byName.set(name, path);
      }
    }
  }
  const fragments: Fragment[] = [];
  for (const [, path] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1))) {
    try {
      const text = await readFile(path, 'utf8');
      if (text.length > fragmentBytesMax) problems.push(`${path} is larger than ${fragmentBytesMax} bytes`);
      else fragments.push({ path, text });
    } catch (error) {
      problems.push(`${path} cannot be read: ${messageOf(error)}`);
    }
  }
  return { fragments, problems, warnings };
}

/** A link to /dev/null hides the file of that name in the directories before it. */
async function isMask(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink() && (await readlink(path)) === '/dev/null';
  } catch {
    return false; // It has gone meanwhile; reading it will say so.
  }
}

/** Merges files in their order: the last word of a key wins, windows add up. Pure but for the parser passed in. */
export function mergeFragments(
  fragments: readonly Fragment[],
  parse: (text: string) => object,
): LoadedConfig {
  const config = structuredClone(defaultConfig);
  const values = new Map<string, ConfigValue>();
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
    const lines = keyLines(text);
    for (const [key, value] of leaves(document)) {
      const line = lineOf(lines, key);
      const place = line === 0 ? path : `${path}:${line}`;
      const put = configKeys[key];
      if (put === undefined) {
        warnings.push(`${place}: the key ${key} has no effect`);
        continue;
      }
      const problem = put(value, config);
      if (problem !== undefined) problems.push(`${place}: ${key} ${problem}`);
      else if (key === 'updates.periodic.window') values.set(`${key} ${place}`, { key, value, path, line });
      else values.set(key, { key, value, path, line });
    }
  }
  problems.push(...contradictions(config));
  warnings.push(...withoutEffect(config));
  return { config, values: [...values.values()], problems, warnings };
}

/** What each key alone cannot tell. */
function contradictions({ strategies, fleetLock, periodic }: FinalizeConfig): string[] {
  const problems: string[] = [];
  if (strategies.includes('fleet_lock') && fleetLock.baseUrl === '') {
    problems.push('the strategy fleet_lock needs updates.fleet_lock.base_url');
  }
  if (strategies.includes('periodic') && periodic.windows.length === 0) {
    problems.push('the strategy periodic needs at least one [[updates.periodic.window]]');
  }
  return problems;
}

/** What is written for a strategy that is not in force does nothing, and says so. */
function withoutEffect({ strategies, fleetLock, periodic, marker }: FinalizeConfig): string[] {
  const warnings: string[] = [];
  if (periodic.windows.length > 0 && !strategies.includes('periodic')) {
    warnings.push('[[updates.periodic.window]] has no effect: periodic is not among the strategies');
  }
  if (fleetLock.baseUrl !== '' && !strategies.includes('fleet_lock')) {
    warnings.push('updates.fleet_lock.base_url has no effect: fleet_lock is not among the strategies');
  }
  const lastSegment = /^https?:\/\/[^/]+\/(?:.*\/)?([^/]+)$/.exec(fleetLock.baseUrl)?.[1];
  if (lastSegment !== undefined) {
    warnings.push(
      `updates.fleet_lock.base_url: zincati drops the last part, ${lastSegment}, since no slash follows it; here it is kept`,
    );
  }
  if (marker.overridesWindow && !strategies.includes('periodic')) {
    warnings.push('updates.marker = "override" has no effect: there is no window of the strategy periodic');
  }
  return warnings;
}

async function zoneOf(config: FinalizeConfig): Promise<{ config: FinalizeConfig; problems: string[] }> {
  if (!config.strategies.includes('periodic')) return { config, problems: [] };
  const { timeZone } = config.periodic;
  try {
    const name = timeZone === 'localtime' ? await localZoneName() : timeZone;
    await loadZone(name);
    return { config: { ...config, periodic: { ...config.periodic, timeZone: name } }, problems: [] };
  } catch (error) {
    return { config, problems: [`updates.periodic.time_zone: ${messageOf(error)}`] };
  }
}

function* leaves(value: object, prefix = ''): Generator<[string, unknown]> {
  for (const [key, child] of Object.entries(value)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    const isTable =
      typeof child === 'object' && child !== null && !Array.isArray(child) && !(child instanceof Date);
    if (isTable && configKeys[path] === undefined) yield* leaves(child, path);
    else yield [path, child];
  }
}
