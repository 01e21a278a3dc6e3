import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { createAuthenticator } from './auth.ts';
import type { HtpasswdEntry } from './htpasswd.ts';

const asking = (user: string, password: string) =>
  ({
    headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
    socket: {},
  }) as unknown as IncomingMessage;

test('a password that was right is remembered with its line, and for a while only', async () => {
  let users: HtpasswdEntry[] = [
    { user: 'openshift', hash: hashSync('old', 4) },
    { user: 'openshift', hash: hashSync('new: with a colon', 4) },
  ];
  let now = 0;
  let looks = 0;
  const authenticate = createAuthenticator({
    users: () => {
      looks += 1;
      return users;
    },
    clientCertificates: false,
    now: () => now,
  });
  for (let times = 0; times < 3; times += 1) {
    assert.equal(await authenticate(asking('openshift', 'old')), 'openshift');
    assert.equal(await authenticate(asking('openshift', 'new: with a colon')), 'openshift');
    now += 200_000;
  }
  assert.equal(looks, 6);
  assert.equal(await authenticate(asking('openshift', 'other')), undefined);
  assert.equal(await authenticate(asking('nobody', 'old')), undefined);
  users = users.slice(1);
  assert.equal(await authenticate(asking('openshift', 'old')), undefined); // At once, though it was remembered.
});

test('at most a few passwords wait to be checked; the rest are told to come again', async () => {
  const authenticate = createAuthenticator({
    users: () => [{ user: 'openshift', hash: hashSync('right', 6) }],
    clientCertificates: false,
  });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => authenticate(asking('openshift', `${at}`))),
  );
  assert.equal(answers.filter((answer) => answer === 'busy').length, 40 - 16);
  assert.equal(await authenticate(asking('openshift', 'right')), 'openshift');
});

test('a password that became right since the last look is found before it is refused; a wrong one costs one look more', async () => {
  let users: HtpasswdEntry[] = [{ user: 'openshift', hash: hashSync('old', 4) }];
  let looks = 0;
  const authenticate = createAuthenticator({
    users: () => users,
    refresh: async () => {
      looks += 1;
      users = [...users.slice(0, 1), { user: 'openshift', hash: hashSync('new', 4) }];
    },
    clientCertificates: false,
  });
  assert.equal(await authenticate(asking('openshift', 'old')), 'openshift');
  assert.equal(looks, 0);
  assert.equal(await authenticate(asking('openshift', 'new')), 'openshift');
  assert.equal(looks, 1);
  assert.equal(await authenticate(asking('openshift', 'wrong')), undefined);
  assert.equal(looks, 2);
});
