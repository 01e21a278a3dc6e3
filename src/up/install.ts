import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { names } from '../api/names.ts';
import { openBundle, type VerifiedBundle } from '../bundle/bundle.ts';
import { preload } from '../copy/preload.ts';
import { readJson, writeDurable, writeJson } from '../durable/file.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { installSimulated } from '../finalize/simulated.ts';
import { openMedia, requireMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { loadTrustedKeys, parseTrustedKey, publicKeySuffix, type TrustedKey } from '../trust/keys.ts';
import { forgetFirstStart, noteFirstStart } from './first-start.ts';
import type { NodePlan, UpLayout } from './layout.ts';

/** What the cluster of a directory was installed with: written when every node has it, never changed after it. */
export interface Installed {
  readonly version: string;
  /** The payload by digest, in the form by which the cluster names it. */
  readonly releaseImage: string;
}

export interface InstallOptions {
  /** Media with the release; needed at the first start alone. */
  readonly release: string | undefined;
  /** Files of public keys, SPKI PEM. */
  readonly keyFiles: readonly string[];
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Tells before the slow part of a start what is wrong with the release that it would install: none is given, or it does
 * not exist. Errors: Usage, and those of `requireMedia`.
 */
export async function requireFirstRelease(release: string | undefined, layout: UpLayout): Promise<void> {
  const beginsAnew = release !== undefined && existsSync(layout.firstStart);
  if (existsSync(layout.installed) && !beginsAnew) return;
  await requireMedia(requireGiven(release));
}

/**
 * Installs a cluster at its first start, as an installation would have; at every later one it only says that it was.
 * What runs by then is the cluster's own affair: a release that it has left must not be brought back. A first start
 * that was not finished binds nobody: one that brings a release begins anew.
 *
 * Errors: Usage (no release, no key), those of `openBundle` and of a copy.
 */
export async function ensureInstalled(
  options: InstallOptions,
  layout: UpLayout,
  nodes: readonly NodePlan[],
): Promise<Installed> {
  const given = await readKeys(options.keyFiles);
  if (options.release !== undefined && (await forgetFirstStart(layout))) {
    options.say('the first start here was not finished, so this one begins anew');
  }
  const before = await readJson<Installed>(layout.installed);
  if (before !== undefined) {
    if (given.size > 0) await keepKeys(layout, given);
    requireKeys(await loadTrustedKeys(layout.trustedKeys));
    if (options.release !== undefined) {
      options.say(`installed with ${before.version} before, so --release is not used`);
    }
    return before;
  }
  const keys = requireKeys(await loadTrustedKeys(Object.fromEntries(given)));
  const release = requireGiven(options.release);
  await noteFirstStart(layout);
  const bundle = await installRelease(release, options, nodes, keys);
  for (const node of nodes) await installSystem(node, bundle);
  const { apiInt, registryPort } = names('standalone');
  const { version, payload } = bundle.document;
  const installed = {
    version,
    releaseImage: `${apiInt}:${registryPort}/openshift/release-images@${payload}`,
  };
  await keepKeys(layout, given);
  await writeJson(layout.installed, installed);
  return installed;
}

function requireGiven(release: string | undefined): string {
  if (release !== undefined) return release;
  throw new SluiceError('Usage', 'a cluster needs a release to begin with', {
    next: 'Give media with a signed bundle: --release PATH --key sluice.pub (bundle build makes one).',
  });
}

/** File name → SPKI PEM of the keys that are given: all are read before anything is written. */
async function readKeys(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const given = new Map<string, string>();
  for (const file of files) {
    const name = basename(file).replace(/(\.pub)?$/, publicKeySuffix);
    if (given.has(name)) throw new SluiceError('Usage', `two keys are called ${name}: rename one of them`);
    const pem = await readFile(file, 'utf8').catch((error: unknown) => {
      throw new SluiceError('NotFound', `the key ${file} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    });
    parseTrustedKey(name, pem);
    given.set(name, pem);
  }
  return given;
}

/** From here on exactly these keys are trusted. */
async function keepKeys(layout: UpLayout, keys: ReadonlyMap<string, string>): Promise<void> {
  await rm(layout.trustedKeys, { recursive: true, force: true });
  for (const [name, pem] of keys) await writeDurable(join(layout.trustedKeys, name), pem);
}

function requireKeys(keys: readonly TrustedKey[]): readonly TrustedKey[] {
  if (keys.length > 0) return keys;
  throw new SluiceError('SignatureUntrusted', 'no public key is trusted, so no release can be installed', {
    next: 'Give the key of the one who signed it: --key sluice.pub',
  });
}

/** Verifies the release and puts it into every node's store. */
async function installRelease(
  path: string,
  options: InstallOptions,
  nodes: readonly NodePlan[],
  keys: readonly TrustedKey[],
): Promise<VerifiedBundle> {
  const media = await openMedia(path);
  try {
    const [name] = media.hint.bundles.map((bundle) => bundle.name).sort();
    if (name === undefined) {
      throw new SluiceError('MediaUnreadable', `${path} does not say which bundle it carries`);
    }
    const bundle = await openBundle(media.content, { name }, keys);
    options.say(`installing ${name}, signed by ${bundle.signedBy.name} (${bundle.signedBy.id})`);
    // All to their end, also where one fails: the medium is closed after it.
    const copies = await Promise.allSettled(
      nodes.map(({ store }) =>
        preload(media.content, name, store, { keys, signal: options.signal, clock: systemClock }),
      ),
    );
    for (const copy of copies) if (copy.status === 'rejected') throw copy.reason;
    return bundle;
  } finally {
    await media.close();
  }
}

async function installSystem(node: NodePlan, bundle: VerifiedBundle): Promise<void> {
  const { os, version } = bundle.document;
  if (os === undefined) return;
  const { apiInt, registryPort } = names('standalone');
  await installSimulated(node.os, {
    image: `${apiInt}:${registryPort}/openshift/release@${os.digest}`,
    digest: os.digest,
    version: os.version ?? version,
  });
}

/** Made once; to have another one it is deleted, and the cluster started again. */
export async function ensureLockSecret(path: string): Promise<void> {
  if (existsSync(path)) return;
  await writeDurable(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
}

/** What each start makes sure of on a node: its directories, its machine id, its rule for reboots. */
export async function configureNode(
  node: NodePlan,
  lock: { readonly url: string; readonly secretFile?: string },
): Promise<void> {
  for (const directory of [node.run, node.marker, node.os, node.config]) {
    await mkdir(directory, { recursive: true });
  }
  const machineId = join(node.dir, 'machine-id');
  if ((await readFile(machineId, 'utf8').catch(() => '')) === '') {
    await writeDurable(machineId, `${randomUUID().replaceAll('-', '')}\n`);
  }
  const rule = [
    '# Written by sluice up: this node reboots when its marker file allows, one node at a time.',
    '[updates]',
    'strategy = ["marker_file", "fleet_lock"]',
    '[updates.marker_file]',
    `path = ${JSON.stringify(join(node.marker, 'allowfinalize.json'))}`,
    '[updates.fleet_lock]',
    `base_url = ${JSON.stringify(lock.url)}`,
    ...(lock.secretFile === undefined ? [] : [`secret_file = ${JSON.stringify(lock.secretFile)}`]),
    '',
  ];
  await writeDurable(join(node.config, '50-up.toml'), rule.join('\n'));
}
