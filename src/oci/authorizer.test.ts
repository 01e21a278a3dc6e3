import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpClient, HttpResponse } from '../http/client.ts';
import { createAuthorizer, parseChallenges } from './authorizer.ts';

test('challenges as registries write them', () => {
  const [bearer, basic] = parseChallenges([
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    'Basic realm="say \\"please\\""',
  ]);
  assert.equal(bearer?.scheme, 'bearer');
  assert.deepEqual(Object.fromEntries(bearer?.parameters ?? []), {
    realm: 'https://auth.example/token',
    service: 'registry.example',
    scope: 'repository:a/b:pull,push',
  });
  assert.equal(basic?.parameters.get('realm'), 'say "please"');
  assert.deepEqual(
    parseChallenges('Basic realm=x, Bearer realm=y').map((each) => each.scheme),
    ['basic', 'bearer'],
  );
  assert.deepEqual(parseChallenges(undefined), []);
});

test('no password is sent in clear for a token, unless the registry was named as one without TLS', async () => {
  const asked: string[] = [];
  const answered = { status: 200, text: async () => '{"token":"t"}', discard: async () => {} };
  const http = {
    request: async ({ url }: { url: string }) => {
      asked.push(url);
      return answered;
    },
  } as unknown as HttpClient;
  const challenge = (realm: string) =>
    ({ headers: { 'www-authenticate': `Bearer realm="${realm}",service="s"` } }) as unknown as HttpResponse;
  const of = (insecure: boolean) =>
    createAuthorizer({
      host: 'registry.example',
      http,
      insecure,
      credentials: async () => ({ username: 'me', password: 'secret' }),
    });
  for (const realm of ['http://auth.example/token', 'ftp://auth.example/token', 'nowhere']) {
    await assert.rejects(of(false).challenged(challenge(realm), 'a/b'), { code: 'Unauthorized' }, realm);
  }
  assert.deepEqual(asked, []);
  const authorizer = of(true);
  assert.ok(await authorizer.challenged(challenge('http://auth.example/token'), 'a/b'));
  assert.equal(authorizer.header('a/b'), 'Bearer t');
  assert.ok(await of(false).challenged(challenge('https://auth.example/token'), 'a/b'));
  assert.deepEqual(
    asked.map((url) => new URL(url).protocol),
    ['http:', 'https:'],
  );
});
