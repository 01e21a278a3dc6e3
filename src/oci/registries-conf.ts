import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';

// containers-registries.conf(5), version 2: which registry stands in for which.

/** One place that an image may be read from. */
export interface Endpoint {
  readonly host: string;
  readonly repository: string;
  /** Whether it may be spoken to without TLS, or with a certificate that nobody vouches for. */
  readonly insecure: boolean;
  /** Kinds of references that are asked of it. */
  readonly pulls: 'all' | 'digest-only' | 'tag-only';
}

interface Place {
  readonly location: string;
  readonly insecure: boolean;
}

export interface RegistryRule {
  /** `host[/path]`, or `*.domain`. */
  readonly prefix: string;
  readonly origin: Place;
  readonly blocked: boolean;
  readonly mirrors: readonly (Place & { readonly pulls: Endpoint['pulls'] })[];
}

const rulesMax = 10_000;

/** Files that are read, the later ones winning: the one that is named, or the user's, or the system's; with drop-ins. */
export async function loadRegistryRules(env: NodeJS.ProcessEnv, named?: string): Promise<RegistryRule[]> {
  const explicit = named ?? env.CONTAINERS_REGISTRIES_CONF;
  if (explicit !== undefined && explicit !== '') return await readRules(explicit, true);
  const user = join(
    env.XDG_CONFIG_HOME ?? join(env.HOME ?? '/root', '.config'),
    'containers',
    'registries.conf',
  );
  const rules = new Map<string, RegistryRule>();
  for (const path of [user, '/etc/containers/registries.conf']) {
    const found = await readRules(path, false);
    for (const rule of found) rules.set(rule.prefix, rule);
    const dropIns = await readdir(`${path}.d`).catch(() => [] as string[]);
    for (const name of dropIns.filter((each) => each.endsWith('.conf')).sort()) {
      for (const rule of await readRules(join(dirname(path), 'registries.conf.d', name), false)) {
        rules.set(rule.prefix, rule);
      }
    }
    if (rules.size > 0) break;
  }
  return [...rules.values()];
}

async function readRules(path: string, required: boolean): Promise<RegistryRule[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (!required && ['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return [];
    throw new SluiceError('NotFound', `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  return await parseRegistryRules(text, path);
}

/** Errors: InputInvalid, with the place. */
export async function parseRegistryRules(text: string, where: string): Promise<RegistryRule[]> {
  const { parse } = await import('smol-toml');
  let document: Record<string, unknown>;
  try {
    document = parse(text);
  } catch (error) {
    throw new SluiceError('InputInvalid', `${where} is not TOML: ${messageOf(error)}`, { cause: error });
  }
  const list = document.registry ?? [];
  if (!Array.isArray(list) || list.length > rulesMax)
    throw invalid(where, 'registry', 'is not a list of tables');
  return list.map((value, index) => {
    const at = `registry[${index}]`;
    const table = record(value, where, at);
    const prefix = optionalText(table.prefix, where, `${at}.prefix`);
    const location = optionalText(table.location, where, `${at}.location`) ?? prefix;
    if (location === undefined) throw invalid(where, at, 'has neither prefix nor location');
    const digestOnly = table['mirror-by-digest-only'] === true;
    const mirrors = table.mirror ?? [];
    if (!Array.isArray(mirrors)) throw invalid(where, `${at}.mirror`, 'is not a list of tables');
    return {
      prefix: prefix ?? location,
      origin: { location, insecure: table.insecure === true },
      blocked: table.blocked === true,
      mirrors: mirrors.map((each, number) => parseMirror(each, where, `${at}.mirror[${number}]`, digestOnly)),
    };
  });
}

function parseMirror(
  value: unknown,
  where: string,
  at: string,
  digestOnly: boolean,
): RegistryRule['mirrors'][number] {
  const table = record(value, where, at);
  const location = optionalText(table.location, where, `${at}.location`);
  if (location === undefined) throw invalid(where, at, 'has no location');
  const said = table['pull-from-mirror'];
  const pulls =
    said === 'digest-only' || said === 'tag-only' || said === 'all'
      ? said
      : digestOnly
        ? 'digest-only'
        : 'all';
  return { location, insecure: table.insecure === true, pulls };
}

/**
 * Where an image is read from, in order: the mirrors of the longest prefix that fits, then its own place.
 * A blocked registry is left out, but its mirrors are not. Errors: Forbidden where nothing is left.
 */
export function endpointsOf(
  rules: readonly RegistryRule[],
  image: { host: string; repository: string },
): Endpoint[] {
  const name = `${image.host}/${image.repository}`;
  const rule = rules
    .filter((each) => matches(each.prefix, name))
    .sort((a, b) => b.prefix.length - a.prefix.length)[0];
  if (rule === undefined) return [{ ...image, insecure: false, pulls: 'all' }];
  const rest = rule.prefix.startsWith('*.') ? name.slice(image.host.length) : name.slice(rule.prefix.length);
  const endpoints = rule.mirrors.map(({ location, insecure, pulls }) => ({
    ...split(`${location}${rest}`),
    insecure,
    pulls,
  }));
  if (!rule.blocked) {
    const own = rule.prefix.startsWith('*.') ? name : `${rule.origin.location}${rest}`;
    endpoints.push({ ...split(own), insecure: rule.origin.insecure, pulls: 'all' });
  }
  if (endpoints.length > 0) return endpoints;
  throw new SluiceError('Forbidden', `${name} is blocked by the rule for ${rule.prefix} in registries.conf`);
}

function matches(prefix: string, name: string): boolean {
  if (prefix.startsWith('*.')) return (name.split('/')[0] ?? '').endsWith(prefix.slice(1));
  return name === prefix || name.startsWith(`${prefix}/`);
}

function split(text: string): { host: string; repository: string } {
  const slash = text.indexOf('/');
  return { host: text.slice(0, slash), repository: text.slice(slash + 1) };
}

function record(value: unknown, where: string, at: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw invalid(where, at, 'is not a table');
}

function optionalText(value: unknown, where: string, at: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value !== '') return value.replace(/\/+$/, '');
  throw invalid(where, at, 'is not a text');
}

function invalid(where: string, at: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `${where}: ${at} ${what}`);
}
