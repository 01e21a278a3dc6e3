import type { JsonObject } from '../schema/json.ts';
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

export declare function createTokenIssuer(options: {
  issuer: string;
  audiences: readonly string[];
  /** PKCS#8 PEM, P-256. */
  privateKeyPem: string;
  objects: TokenObjects;
  now: () => Date;
}): Promise<TokenIssuer>;

/** Makes a key for `createTokenIssuer` (PKCS#8 PEM, P-256). */
export declare function generateServiceAccountKey(): string;
