import { createHash, randomBytes } from 'node:crypto';
import type { Secret } from '../api/core.ts';
import { names } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict } from '../kube/error.ts';

/** What the Secret `internal-release-image-registry-auth` says. */
export interface RegistryCredentials {
  /** The lines of the htpasswd file: every password that is to be accepted. */
  readonly htpasswd: string;
  /** What clients are to use; undefined while a Secret that was deleted is being made anew. */
  readonly password: string | undefined;
  /** What clients are to use as soon as every node accepts it. */
  readonly next: string | undefined;
}

/** bcrypt's work factor: distribution's own default for htpasswd. */
const bcryptCost = 10;
const passwordBytes = 32;

/** Undefined where there is no Secret. */
export async function readCredentials(client: KubeClient): Promise<RegistryCredentials | undefined> {
  const secret = await readSecret(client);
  return secret === undefined ? undefined : credentialsIn(secret);
}

export function credentialsIn(secret: Secret): RegistryCredentials {
  return {
    htpasswd: decoded(secret.data?.htpasswd) ?? '',
    password: decoded(secret.data?.password),
    next: decoded(secret.data?.next),
  };
}

/** The registries' password, where the Secret is there. */
export async function registryPassword(client: KubeClient): Promise<string | undefined> {
  return (await readCredentials(client))?.password;
}

/** By this a node says which credentials its registry accepts; nothing of them can be told from it. */
export function fingerprintOf(credentials: RegistryCredentials): string {
  const { htpasswd, password, next } = credentials;
  return createHash('sha256')
    .update(JSON.stringify([htpasswd, password, next]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * What is to be done next about the credentials. A new password goes round in three steps, so that no pull ever
 * fails: nodes accept it beside the old one; when all of them say so, clients are told to use it; when all of them
 * have seen that, the old one is not accepted any more (nodes still do for a while, for clients that are slow).
 *
 * @param nodes by control-plane node, the fingerprint of what it accepts; undefined where it has not said.
 */
export function nextStep(
  credentials: RegistryCredentials | undefined,
  nodes: ReadonlyMap<string, string | undefined>,
): 'Create' | 'CreateBeside' | 'Promote' | 'Finish' | 'None' {
  if (credentials === undefined) {
    // Somebody deleted it: nodes accept something that clients still use.
    return [...nodes.values()].some((each) => each !== undefined) ? 'CreateBeside' : 'Create';
  }
  if (credentials.next === undefined) return credentials.password === undefined ? 'Create' : 'None';
  const fingerprint = fingerprintOf(credentials);
  if (nodes.size === 0 || [...nodes.values()].some((each) => each !== fingerprint)) return 'None';
  return credentials.password === credentials.next ? 'Finish' : 'Promote';
}

/** Does what `nextStep` says. Answers the step. Errors: Conflict where somebody wrote meanwhile. */
export async function keepCredentials(
  client: KubeClient,
  nodes: ReadonlyMap<string, string | undefined>,
): Promise<ReturnType<typeof nextStep>> {
  const secret = await readSecret(client);
  const credentials = secret === undefined ? undefined : credentialsIn(secret);
  const step = nextStep(credentials, nodes);
  switch (step) {
    case 'Create':
    case 'CreateBeside': {
      const password = newPassword();
      const htpasswd = await lineOf(client, password);
      const data = step === 'Create' ? { htpasswd, password } : { htpasswd, next: password };
      if (secret === undefined) await createSecret(client, data);
      else await patchSecret(client, secret, data);
      return step;
    }
    case 'Promote':
      if (secret !== undefined) await patchSecret(client, secret, { password: credentials?.next ?? null });
      return step;
    case 'Finish': {
      const last = linesOf(credentials?.htpasswd ?? '').at(-1);
      if (secret !== undefined) await patchSecret(client, secret, { htpasswd: `${last}\n`, next: null });
      return step;
    }
    case 'None':
      return step;
  }
}

/**
 * Begins to change the password; the controller does the rest. Where a change is under way already, that one is
 * waited for instead. Answers whether it was begun. Errors: NotFound.
 */
export async function rotateCredentials(client: KubeClient): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const secret = await readSecret(client);
    if (secret === undefined) {
      throw new SluiceError('NotFound', 'the registries have no credentials yet', {
        next: 'The controller makes them: see whether it runs (sluice cluster check; of sluice up: sluice up status), then run this again.',
      });
    }
    const { htpasswd, next } = credentialsIn(secret);
    if (next !== undefined) return false;
    const password = newPassword();
    const lines = [...linesOf(htpasswd), (await lineOf(client, password)).trim()].join('\n');
    try {
      await patchSecret(client, secret, { htpasswd: `${lines}\n`, next: password });
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt >= attemptsMax) throw error;
    }
  }
}

const attemptsMax = 5;

export function linesOf(htpasswd: string): string[] {
  return htpasswd.split('\n').filter((line) => line.trim() !== '');
}

function newPassword(): string {
  return randomBytes(passwordBytes).toString('base64url');
}

async function lineOf(client: KubeClient, password: string): Promise<string> {
  const { hash } = await import('bcryptjs');
  return `${names(client.platform).registryUser}:${await hash(password, bcryptCost)}\n`;
}

async function readSecret(client: KubeClient): Promise<Secret | undefined> {
  const { registrySecret, machineConfigNamespace } = names(client.platform);
  return await client.tryGet(client.kinds.Secret, registrySecret, machineConfigNamespace);
}

type Data = Readonly<Record<string, string | null>>;

async function createSecret(client: KubeClient, data: Data): Promise<void> {
  const { registrySecret: name, machineConfigNamespace: namespace } = names(client.platform);
  try {
    await client.create(client.kinds.Secret, {
      metadata: { name, namespace },
      type: 'Opaque',
      data: encoded(data) as Record<string, string>,
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function patchSecret(client: KubeClient, secret: Secret, data: Data): Promise<void> {
  const { name, namespace, resourceVersion } = secret.metadata;
  await client.patch(
    client.kinds.Secret,
    name,
    { metadata: { resourceVersion }, data: encoded(data) as Record<string, string> },
    { namespace: namespace ?? names(client.platform).machineConfigNamespace },
  );
}

function encoded(data: Data): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [
      key,
      text === null ? null : Buffer.from(text).toString('base64'),
    ]),
  );
}

function decoded(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');
}
