import { randomInt } from 'node:crypto';
import { record } from '../object.ts';
import type { Served } from '../served.ts';
import { forbidden, notFound, StatusError } from '../status.ts';
import { currentForWrite, type Engine } from './engine.ts';

/** Letters and digits of generated names: no vowels, so that no words come up (apimachinery, rand.String). */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const randomCharacters = 5;
/** Longest part of a generated name that is kept in front of the random one. */
const generatedBaseMax = 63 - randomCharacters;

export function generateName(base: string): string {
  let random = '';
  for (let at = 0; at < randomCharacters; at += 1) random += alphabet[randomInt(alphabet.length)];
  return base.slice(0, generatedBaseMax) + random;
}

/** A namespace must exist and not be ending for anything to be created in it. @throws 403, 404 */
export function namespaceForCreate(engine: Engine, served: Served, namespace: string, name: string): void {
  const namespaces = engine.resources.builtIn('v1', 'namespaces');
  const current = currentForWrite(engine, namespaces, '', namespace);
  if (current === undefined) throw notFound(namespaces, namespace);
  const terminating =
    current.object.metadata.deletionTimestamp !== undefined ||
    record(current.object.status).phase === 'Terminating';
  if (!terminating) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refused = forbidden(served, name, why);
  throw new StatusError(refused.code, refused.reason, refused.message, {
    ...refused.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}
