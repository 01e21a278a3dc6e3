import { open, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { askNode, nodeSocketPath } from '../node/socket.ts';
import { run } from '../process/run.ts';
import { type GatherEntry, type Miss, textBytesMax } from './entry.ts';
import type { Redactor } from './redact.ts';

/** Where things are on the host that the command runs on. */
export interface HostPlaces {
  /** Directories with the socket of a node's agent. */
  readonly runDirs: readonly string[];
  /** Directories of TOML drop-ins. */
  readonly configDirs: readonly string[];
  /** The directory of a cluster of `sluice up`. */
  readonly upDir?: string;
  /** How far back the journal is read, as journalctl takes it: `-24h`. */
  readonly since: string;
}

/** What the host's own tools say. One that is not installed says nothing, and is no loss. */
const commands: readonly (readonly [string, ...string[]])[] = [
  ['uname', '-a'],
  ['df', '-h'],
  ['timedatectl', 'show'],
  ['systemctl', 'list-units', '--all', '--no-pager', 'sluice-*'],
  ['systemctl', 'status', '--no-pager', '--lines=0', 'sluice-*'],
  ['systemd-inhibit', '--list', '--no-pager'],
  ['rpm-ostree', 'status', '--json'],
  ['bootc', 'status', '--json'],
  ['podman', 'version'],
];
const commandMs = 15_000;
const journalLinesMax = 20_000;
const routes = ['GET /v1/content', 'GET /v1/finalization'];

/** What this host tells of its Sluice: its agents, its configuration, its journal, and its tools. */
export async function* gatherHost(
  places: HostPlaces,
  redactor: Redactor,
  miss: Miss,
): AsyncGenerator<GatherEntry> {
  if (places.upDir !== undefined) yield* gatherUp(places.upDir, redactor, miss);
  for (const runDir of places.runDirs) yield* gatherAgent(nodeSocketPath(runDir), 'host/agent', miss);
  for (const directory of places.configDirs) yield* filesOf(directory, /\.toml$/, `host/config${directory}`);
  yield* filesOf('/etc/sluice/trusted-keys', /\.pub$/, 'host/trusted-keys');
  for (const [program, ...words] of commands) {
    const said = await output(program, words, miss);
    if (said !== undefined)
      yield { path: `host/${[program, (words[0] ?? '').replace(/^-+/, '')].join('-')}.txt`, text: said };
  }
  const journal = ['-u', 'sluice-*', '--since', places.since, '-n', String(journalLinesMax)];
  const said = await output('journalctl', [...journal, '--no-pager', '-o', 'short-iso'], miss);
  if (said !== undefined) yield { path: 'host/journal.txt', text: said };
}

async function output(program: string, words: readonly string[], miss: Miss): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(program, words, {
      timeoutMs: commandMs,
      outputBytesMax: textBytesMax,
    });
    return `${stdout}${stderr}`;
  } catch (error) {
    if (!isSluiceError(error, 'NotFound')) miss(program, messageOf(error));
    return undefined;
  }
}

/** What an agent answers. That none listens there is told, and no failure: a host need not have one. */
async function* gatherAgent(socket: string, path: string, miss: Miss): AsyncGenerator<GatherEntry> {
  for (const route of routes) {
    try {
      const answer = await askNode(socket, route);
      yield { path: `${path}/${basename(route)}.json`, text: JSON.stringify(answer, null, 2) };
    } catch (error) {
      // An agent without a cluster has no content.
      if (!isSluiceError(error, 'NotFound')) miss(`${route} at ${socket}`, messageOf(error));
    }
  }
}

/** A cluster of `sluice up`: what its processes said, and how its nodes stand, whether it runs or not. */
async function* gatherUp(directory: string, redactor: Redactor, miss: Miss): AsyncGenerator<GatherEntry> {
  await learnKeys(directory, redactor);
  yield* filesOf(directory, /^(state|installed)\.json$/, 'up');
  yield* filesOf(join(directory, 'logs'), /\.log$/, 'up/logs');
  yield* filesOf(join(directory, 'trusted-keys'), /\.pub$/, 'up/trusted-keys');
  for (const node of await namesIn(join(directory, 'nodes'))) {
    const place = join(directory, 'nodes', node);
    for (const part of ['os', 'state'])
      yield* filesOf(join(place, part), /\.json$/, `up/nodes/${node}/${part}`);
    yield* filesOf(join(place, 'config.d'), /\.toml$/, `up/nodes/${node}/config.d`);
    yield* filesOf(join(place, 'marker'), /\.json$/, `up/nodes/${node}/marker`);
    yield* filesOf(join(place, 'run'), /^trees\.json$/, `up/nodes/${node}`);
    yield* gatherAgent(nodeSocketPath(join(place, 'run')), `up/nodes/${node}/agent`, miss);
  }
}

/** Keys and passwords that lie there are taken out of everything else; none of these files is kept. */
async function learnKeys(directory: string, redactor: Redactor): Promise<void> {
  for (const folder of ['pki', 'api', join('api', 'pki')]) {
    for (const name of await namesIn(join(directory, folder))) {
      if (name.endsWith('.key')) redactor.learn(await readFile(join(directory, folder, name), 'utf8'));
    }
  }
  redactor.learn((await readFile(join(directory, 'lock-secret'), 'utf8').catch(() => '')).trim());
  const auths = await readFile(join(directory, 'auth.json'), 'utf8').catch(() => '');
  for (const [, auth = ''] of auths.matchAll(/"auth"\s*:\s*"([^"]+)"/g)) {
    redactor.learn(auth);
    redactor.learn(
      Buffer.from(auth, 'base64')
        .toString('utf8')
        .replace(/^[^:]*:/, ''),
    );
  }
}

async function* filesOf(directory: string, form: RegExp, path: string): AsyncGenerator<GatherEntry> {
  for (const name of await namesIn(directory)) {
    if (!form.test(name)) continue;
    const text = await endOf(join(directory, name));
    if (text !== undefined) yield { path: `${path}/${name}`, text };
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort();
}

/** The end of a file, without reading what is before it; undefined where it cannot be read. */
async function endOf(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - textBytesMax);
    const bytes = Buffer.alloc(size - from);
    await file.read(bytes, 0, bytes.length, from);
    const text = bytes.toString('utf8');
    return from === 0 ? text : `[the first ${from} bytes are left out]\n${text}`;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}
