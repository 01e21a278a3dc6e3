import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, errors, exportJWK, jwtVerify, SignJWT } from 'jose';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../schema/json.ts';
import type { UserInfo } from './rbac.ts';

/** Object that a token is bound to: the token dies with it. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Node' | 'Secret';
  readonly name: string;
  readonly uid: string;
}

export interface TokenIssuer {
  /** JWKS of the public keys, for /openid/v1/jwks. */
  readonly jwks: JsonObject;
  /** Signs a token for a ServiceAccount. */
  issue(request: {
    namespace: string;
    name: string;
    uid: string;
    audiences: readonly string[];
    expirationSeconds: number;
    bound?: BoundObject | undefined;
    /** The node that the bound Pod runs on. */
    node?: { name: string; uid: string } | undefined;
  }): Promise<{ token: string; expirationTimestamp: string }>;
  /** The user behind a token; undefined where it is no valid token of ours for one of `audiences`. */
  verify(
    token: string,
    audiences?: readonly string[],
  ): Promise<{ user: UserInfo; audiences: string[] } | undefined>;
}

/** Reads objects that tokens are bound to, so that a token dies with what it is bound to. */
export interface TokenObjects {
  get(
    kind: 'ServiceAccount' | 'Pod' | 'Node' | 'Secret',
    namespace: string | undefined,
    name: string,
  ): JsonObject | undefined;
}

const algorithm = 'ES256';

/** The private claim of Kubernetes (kubernetes, pkg/serviceaccount/claims.go). */
const claimName = 'kubernetes.io';

/** Longest token that is looked at, in characters. */
const tokenUnitsMax = 16 * 1024;

/** Seconds that clocks may differ. */
const clockToleranceSeconds = 5;

/**
 * Issues and verifies ServiceAccount tokens as kube-apiserver does: ES256, bound to the account's uid and, where asked,
 * to a Pod, Node or Secret, all of which must still exist when the token is used.
 */
export async function createTokenIssuer(options: {
  issuer: string;
  audiences: readonly string[];
  /** PKCS#8 PEM, P-256. */
  privateKeyPem: string;
  objects: TokenObjects;
  now: () => Date;
}): Promise<TokenIssuer> {
  const privateKey = createPrivateKey(options.privateKeyPem);
  const publicKey = createPublicKey(privateKey);
  const jwk = await exportJWK(publicKey);
  const keyId = await calculateJwkThumbprint(jwk);
  const { issuer, objects } = options;

  return {
    jwks: { keys: [{ ...(jwk as JsonObject), use: 'sig', alg: algorithm, kid: keyId }] },

    issue: async ({ namespace, name, uid, audiences, expirationSeconds, bound, node }) => {
      const issuedAt = Math.floor(options.now().getTime() / 1000);
      const expiresAt = issuedAt + expirationSeconds;
      const claim: JsonObject = { namespace, serviceaccount: { name, uid } };
      if (bound !== undefined) claim[bound.kind.toLowerCase()] = { name: bound.name, uid: bound.uid };
      if (node !== undefined) claim.node = { name: node.name, uid: node.uid };
      const token = await new SignJWT({ [claimName]: claim })
        .setProtectedHeader({ alg: algorithm, kid: keyId })
        .setIssuer(issuer)
        .setSubject(usernameOf(namespace, name))
        .setAudience([...audiences])
        .setIssuedAt(issuedAt)
        .setNotBefore(issuedAt)
        .setExpirationTime(expiresAt)
        .setJti(randomUUID())
        .sign(privateKey);
      return { token, expirationTimestamp: `${new Date(expiresAt * 1000).toISOString().slice(0, 19)}Z` };
    },

    verify: async (token, audiences = options.audiences) => {
      if (token.length > tokenUnitsMax) return undefined;
      const payload = await payloadOf(token);
      if (payload === undefined) return undefined;
      const asked = [payload.aud ?? []].flat().filter((audience) => audiences.includes(audience));
      const claim = payload[claimName] as JsonValue | undefined;
      if (asked.length === 0 || !isObject(claim)) return undefined;
      const user = userOf(claim, payload.sub, payload.jti, objects);
      return user && { user, audiences: asked };
    },
  };

  async function payloadOf(token: string) {
    try {
      const { payload } = await jwtVerify(token, publicKey, {
        algorithms: [algorithm],
        issuer,
        currentDate: options.now(),
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp', 'sub', 'aud'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

function usernameOf(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The user that a claim stands for, undefined where what it names is no longer there. */
function userOf(
  claim: JsonObject,
  subject: string | undefined,
  tokenId: string | undefined,
  objects: TokenObjects,
): UserInfo | undefined {
  const namespace = stringAt(claim, 'namespace') ?? '';
  const name = stringAt(claim, 'serviceaccount', 'name') ?? '';
  const uid = stringAt(claim, 'serviceaccount', 'uid') ?? '';
  if (subject !== usernameOf(namespace, name)) return undefined;
  if (!stands(objects.get('ServiceAccount', namespace, name), uid)) return undefined;
  const extra: Record<string, string[]> = {};
  if (tokenId !== undefined) extra['authentication.kubernetes.io/credential-id'] = [`JTI=${tokenId}`];
  for (const kind of ['Pod', 'Secret', 'Node'] as const) {
    const bound = claim[kind.toLowerCase()];
    if (!isObject(bound)) continue;
    const boundName = stringAt(bound, 'name') ?? '';
    const boundUid = stringAt(bound, 'uid') ?? '';
    // The node of a Pod's token is told, not asked for: the Pod's own end is what ends the token.
    const isTold = kind === 'Node' && isObject(claim.pod);
    if (!isTold && !stands(objects.get(kind, kind === 'Node' ? undefined : namespace, boundName), boundUid)) {
      return undefined;
    }
    extra[`authentication.kubernetes.io/${kind.toLowerCase()}-name`] = [boundName];
    extra[`authentication.kubernetes.io/${kind.toLowerCase()}-uid`] = [boundUid];
  }
  return {
    username: usernameOf(namespace, name),
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra,
  };
}

/** Whether an object is the very one, and not on its way out since longer than its grace allows. */
function stands(object: JsonObject | undefined, uid: string): boolean {
  return object !== undefined && stringAt(object, 'metadata', 'uid') === uid;
}

/** Makes a key for `createTokenIssuer` (PKCS#8 PEM, P-256). */
export function generateServiceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
