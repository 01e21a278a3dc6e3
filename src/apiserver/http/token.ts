import { type KubeObject, list, record } from '../object.ts';
import type { BoundObject, TokenIssuer } from '../policy/token.ts';
import type { Engine } from '../rest/engine.ts';
import { readObject } from '../rest/read.ts';
import { badRequest, conflict, invalid, notFound, pathNotFound } from '../status.ts';

/** Seconds that a token lives where the request does not say, the least and the most. */
const expirationSecondsDefault = 3_600;
const expirationSecondsMin = 600;
const expirationSecondsMax = 2 ** 32;

/** Answers a TokenRequest (authentication.k8s.io/v1) for a ServiceAccount. @throws 400, 404, 409, 422 */
export async function requestToken(
  engine: Engine,
  tokens: TokenIssuer | undefined,
  audiencesDefault: readonly string[],
  namespace: string,
  name: string,
  body: KubeObject,
): Promise<KubeObject> {
  if (tokens === undefined) throw pathNotFound();
  const accounts = engine.resources.builtIn('v1', 'serviceaccounts');
  const account = readObject(engine, accounts, namespace, name);
  if (account === undefined) throw notFound(accounts, name);
  const spec = record(body.spec);
  const audiences = list(spec.audiences).map(String);
  const bound = boundTo(engine, namespace, spec.boundObjectRef);
  const expirationSeconds = expirationOf(spec.expirationSeconds);
  const wanted = audiences.length === 0 ? audiencesDefault : audiences;
  const status = await tokens.issue({
    namespace,
    name,
    uid: String(account.metadata.uid),
    audiences: wanted,
    expirationSeconds,
    ...(bound === undefined ? {} : { bound: bound.object, node: bound.node }),
  });
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: null } as unknown as KubeObject['metadata'],
    spec: { ...spec, audiences: wanted, expirationSeconds },
    status,
  };
}

function expirationOf(asked: unknown): number {
  if (asked === undefined || asked === null) return expirationSecondsDefault;
  const seconds = Number(asked);
  const refuse = (detail: string) =>
    invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', [
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(asked)}: ${detail}`,
        field: 'spec.expirationSeconds',
      },
    ]);
  if (!Number.isInteger(seconds) || seconds < expirationSecondsMin) {
    throw refuse('may not specify a duration less than 10 minutes');
  }
  if (seconds > expirationSecondsMax) throw refuse('may not specify a duration larger than 2^32 seconds');
  return seconds;
}

function boundTo(
  engine: Engine,
  namespace: string,
  reference: unknown,
): { object: BoundObject; node: { name: string; uid: string } | undefined } | undefined {
  if (reference === undefined || reference === null) return undefined;
  const { kind, name, uid } = record(reference);
  if (kind !== 'Pod' && kind !== 'Secret' && kind !== 'Node') {
    throw badRequest(`cannot bind token to object of type ${kind}`);
  }
  const plural = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' }[kind];
  const served = engine.resources.builtIn('v1', plural);
  const object = readObject(engine, served, served.namespaced ? namespace : '', String(name));
  if (object === undefined) throw notFound(served, String(name));
  if (uid && uid !== object.metadata.uid) {
    throw conflict(
      served,
      String(name),
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        'The object might have been deleted and then recreated',
    );
  }
  return {
    object: { kind, name: String(name), uid: String(object.metadata.uid) },
    node: kind === 'Pod' ? nodeOf(engine, record(object.spec).nodeName) : undefined,
  };
}

function nodeOf(engine: Engine, name: unknown): { name: string; uid: string } | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
  const node = readObject(engine, engine.resources.builtIn('v1', 'nodes'), '', name);
  return node && { name, uid: String(node.metadata.uid) };
}
