import { withNodeReads } from './node-authorizer.ts';
import type { KubeObject } from './object.ts';
import { type Authorizer, createAuthorizer, type RbacSource } from './policy/rbac.ts';
import { createTokenIssuer, type TokenIssuer } from './policy/token.ts';
import type { Engine } from './rest/engine.ts';
import { readObject, readObjects } from './rest/read.ts';
import type { JsonObject } from './schema/json.ts';

/** Who issues ServiceAccount tokens, and for whom where a request names nobody. */
export const tokenIssuer = 'https://kubernetes.default.svc';

const rbac = 'rbac.authorization.k8s.io/v1';

/** Rights by the RBAC objects in the store, looked at again after each change of one; and what nodes may read. */
export function createAccess(engine: Engine): Authorizer {
  const all = (plural: string) => () =>
    readObjects(engine, engine.resources.builtIn(rbac, plural), '').map(json);
  const source: RbacSource = {
    roles: all('roles'),
    clusterRoles: all('clusterroles'),
    roleBindings: all('rolebindings'),
    clusterRoleBindings: all('clusterrolebindings'),
  };
  const authorizer = createAuthorizer(source);
  engine.store.onCommit((changes) => {
    if (changes.some(({ key }) => isRbac(key))) authorizer.changed();
  });
  return withNodeReads(engine, authorizer);
}

/** Tokens of the ServiceAccounts in the store; a token dies with what it is bound to. */
export async function createTokens(engine: Engine, privateKeyPem: string): Promise<TokenIssuer> {
  const plurals = { ServiceAccount: 'serviceaccounts', Pod: 'pods', Node: 'nodes', Secret: 'secrets' };
  return await createTokenIssuer({
    issuer: tokenIssuer,
    audiences: [tokenIssuer],
    privateKeyPem,
    objects: {
      get(kind, namespace, name) {
        const found = readObject(
          engine,
          engine.resources.builtIn('v1', plurals[kind]),
          namespace ?? '',
          name,
        );
        return found && json(found);
      },
    },
    now: () => new Date(engine.clock.now()),
  });
}

function isRbac(key: string): boolean {
  return /^(?:cluster)?role(?:binding)?s\.rbac\.authorization\.k8s\.io\//.test(key);
}

function json(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}
