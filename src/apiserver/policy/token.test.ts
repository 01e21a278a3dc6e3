import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import type { JsonObject } from '../schema/json.ts';
import { createTokenIssuer, generateServiceAccountKey, type TokenObjects } from './token.ts';

const issuerName = 'https://kubernetes.default.svc';
const key = generateServiceAccountKey();
const start = new Date('2026-01-01T00:00:00Z');

function world() {
  const stored = new Map<string, JsonObject>();
  const id = (kind: string, namespace: string | undefined, name: string) =>
    `${kind}/${namespace ?? ''}/${name}`;
  const objects: TokenObjects = { get: (kind, namespace, name) => stored.get(id(kind, namespace, name)) };
  const put = (kind: string, namespace: string | undefined, name: string, uid: string) =>
    stored.set(id(kind, namespace, name), { metadata: { name, uid } });
  put('ServiceAccount', 'ns', 'sa', 'sa-uid');
  put('Pod', 'ns', 'pod', 'pod-uid');
  put('Node', undefined, 'node', 'node-uid');
  let now = start;
  return {
    put,
    remove: (kind: string, namespace: string | undefined, name: string) =>
      stored.delete(id(kind, namespace, name)),
    after: (seconds: number) => {
      now = new Date(start.getTime() + seconds * 1000);
    },
    tokens: createTokenIssuer({
      issuer: issuerName,
      audiences: [issuerName],
      privateKeyPem: key,
      objects,
      now: () => now,
    }),
  };
}

const asked = { namespace: 'ns', name: 'sa', uid: 'sa-uid', audiences: [issuerName], expirationSeconds: 600 };

test('a token names its account and dies in time', async () => {
  const { tokens, after } = world();
  const issuer = await tokens;
  const { token, expirationTimestamp } = await issuer.issue(asked);
  assert.equal(expirationTimestamp, '2026-01-01T00:10:00Z');
  const claims = decodeJwt(token);
  assert.equal(claims.sub, 'system:serviceaccount:ns:sa');
  assert.deepEqual(claims['kubernetes.io'], {
    namespace: 'ns',
    serviceaccount: { name: 'sa', uid: 'sa-uid' },
  });
  assert.equal(claims.exp, (claims.nbf ?? 0) + 600);
  const header = decodeProtectedHeader(token);
  assert.equal(header.alg, 'ES256');
  const [published] = issuer.jwks.keys as JsonObject[];
  assert.equal(published?.kid, header.kid);
  assert.equal(published?.d, undefined, 'the private part stays here');
  const found = await issuer.verify(token);
  assert.equal(found?.user.username, 'system:serviceaccount:ns:sa');
  assert.equal(found?.user.uid, 'sa-uid');
  assert.deepEqual(found?.user.groups, [
    'system:serviceaccounts',
    'system:serviceaccounts:ns',
    'system:authenticated',
  ]);
  after(590);
  assert.notEqual(await issuer.verify(token), undefined);
  after(606);
  assert.equal(await issuer.verify(token), undefined);
  after(-10);
  assert.equal(await issuer.verify(token), undefined, 'not yet valid');
});

test('a token is for its audiences', async () => {
  const issuer = await world().tokens;
  const { token } = await issuer.issue({ ...asked, audiences: ['vault', 'registry'] });
  assert.equal(await issuer.verify(token), undefined);
  assert.deepEqual((await issuer.verify(token, ['registry', 'x']))?.audiences, ['registry']);
});

test('a token dies with its account, and with what it is bound to', async (t) => {
  await t.test('account', async () => {
    const { tokens, remove, put } = world();
    const issuer = await tokens;
    const { token } = await issuer.issue(asked);
    put('ServiceAccount', 'ns', 'sa', 'another-uid');
    assert.equal(await issuer.verify(token), undefined, 'made again: another account');
    remove('ServiceAccount', 'ns', 'sa');
    assert.equal(await issuer.verify(token), undefined);
  });
  await t.test('Pod, with its node told', async () => {
    const { tokens, remove } = world();
    const issuer = await tokens;
    const bound = { kind: 'Pod', name: 'pod', uid: 'pod-uid' } as const;
    const { token } = await issuer.issue({ ...asked, bound, node: { name: 'node', uid: 'node-uid' } });
    const { user } = (await issuer.verify(token)) ?? {};
    assert.deepEqual(user?.extra?.['authentication.kubernetes.io/pod-name'], ['pod']);
    assert.deepEqual(user?.extra?.['authentication.kubernetes.io/node-name'], ['node']);
    remove('Node', undefined, 'node');
    assert.notEqual(await issuer.verify(token), undefined);
    remove('Pod', 'ns', 'pod');
    assert.equal(await issuer.verify(token), undefined);
  });
  await t.test('Node', async () => {
    const { tokens, remove } = world();
    const issuer = await tokens;
    const { token } = await issuer.issue({
      ...asked,
      bound: { kind: 'Node', name: 'node', uid: 'node-uid' },
    });
    assert.notEqual(await issuer.verify(token), undefined);
    remove('Node', undefined, 'node');
    assert.equal(await issuer.verify(token), undefined);
  });
});

test('what others made is no token of ours', async () => {
  const issuer = await world().tokens;
  const { token } = await issuer.issue(asked);
  const [head, body, signature] = token.split('.') as [string, string, string];
  const other = await createTokenIssuer({
    issuer: issuerName,
    audiences: [issuerName],
    privateKeyPem: generateServiceAccountKey(),
    objects: { get: () => ({ metadata: { uid: 'sa-uid' } }) },
    now: () => start,
  });
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
  const claims = { 'kubernetes.io': { namespace: 'ns', serviceaccount: { name: 'sa', uid: 'sa-uid' } } };
  const wrongSubject = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(issuerName)
    .setAudience(issuerName)
    .setSubject('system:serviceaccount:ns:other')
    .setExpirationTime(start.getTime() / 1000 + 60)
    .sign(createPrivateKey(key));
  const bad = [
    '',
    'x',
    'a.b.c',
    none,
    `${head}.${body}.${signature.slice(0, -4)}AAAA`,
    `${head}.${Buffer.from('{}').toString('base64url')}.${signature}`,
    (await other.issue(asked)).token,
    wrongSubject,
    'x'.repeat(100_000),
  ];
  for (const each of bad) assert.equal(await issuer.verify(each), undefined, each.slice(0, 60));
});
