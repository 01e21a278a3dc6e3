import { randomBytes } from 'node:crypto';
import type { Secret } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { rfc3339 } from '../observe/clock.ts';
import { secretCharsMin } from './secret.ts';

/** Keys of the Secret: what clients show, and, while they are told of a new one, what they showed before. */
const keys = { secret: 'secret', previous: 'previous', previousUntil: 'previous-until' } as const;
const secretBytes = 32;
/** The installer of every node has brought it the new one by then. Milliseconds. */
const previousMs = 3_600_000;

const encoded = (text: string) => Buffer.from(text).toString('base64');
const decoded = (text: string | undefined) =>
  Buffer.from(text ?? '', 'base64')
    .toString('utf8')
    .trim();
const newSecret = () => randomBytes(secretBytes).toString('hex');

function placeOf(client: KubeClient) {
  const { lockSecret: name, clusterVersionNamespace: namespace } = names(client.platform);
  const kind: KindRef<Secret> = client.kinds.Secret;
  return { kind, name, namespace };
}

/**
 * What the lock server of a cluster accepts: the Secret's word, and for an hour the one before it. Makes the Secret
 * where there is none, so that there is never a time in which every Pod may take a slot. Errors: the client's.
 */
export async function clusterSecrets(client: KubeClient, now: number): Promise<readonly string[]> {
  const { kind, name, namespace } = placeOf(client);
  const standing = await client.tryGet(kind, name, namespace);
  if (standing !== undefined) return acceptedIn(standing, now);
  const secret = newSecret();
  try {
    await client.create(kind, {
      metadata: { name, namespace },
      type: 'Opaque',
      data: { [keys.secret]: encoded(secret) },
    });
    return [secret];
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return acceptedIn(await client.get(kind, name, namespace), now); // Another replica was faster.
  }
}

/** What the Secret says may be shown. Pure. Words that are too short to be a secret are none. */
export function acceptedIn({ data }: Pick<Secret, 'data'>, now: number): readonly string[] {
  const previousCounts = Date.parse(decoded(data?.[keys.previousUntil])) > now;
  const shown = [decoded(data?.[keys.secret]), ...(previousCounts ? [decoded(data?.[keys.previous])] : [])];
  return shown.filter((secret) => secret.length >= secretCharsMin);
}

/**
 * Makes a new secret. The one before it is accepted for an hour, while nodes are told; not at all where it is known to
 * the wrong people. Answers until when it counts. Errors: the client's, NotFound before the first one was made.
 */
export async function rotateClusterSecret(
  client: KubeClient,
  now: number,
  atOnce: boolean,
): Promise<string | undefined> {
  const { kind, name, namespace } = placeOf(client);
  const standing = await client.get(kind, name, namespace);
  const until = atOnce ? undefined : rfc3339(now + previousMs);
  const data: Record<string, string> = { [keys.secret]: encoded(newSecret()) };
  if (until !== undefined) {
    data[keys.previous] = standing.data?.[keys.secret] ?? '';
    data[keys.previousUntil] = encoded(until);
  }
  await client.update(kind, { ...standing, data });
  return until;
}
