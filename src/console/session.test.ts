import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { createOneTimeCodes } from './links.ts';
import { requireCsrf, requireSameOrigin } from './origin.ts';
import { cookieOf, createSealer, newSession, sessionKeyBytes, sessionMs } from './session.ts';

const key = randomBytes(sessionKeyBytes);
const now = Date.parse('2026-11-30T00:00:00Z');

test('a session is read back under the same key, until it ends', () => {
  const sealer = createSealer(key);
  const session = newSession('token', 'secret-token', now);
  const sealed = sealer.seal(session);
  assert.ok(!sealed.includes('secret-token'));
  assert.ok(!Buffer.from(sealed, 'base64url').toString('latin1').includes('secret-token'));
  assert.deepEqual(createSealer(key).open(sealed, now), session, 'another process with the key reads it');
  assert.equal(sealer.open(sealed, now + sessionMs), undefined, 'it has ended');
});

test('a session that was forged, cut or sealed elsewhere is none', () => {
  const sealer = createSealer(key);
  const sealed = sealer.seal(newSession('link', undefined, now));
  const bytes = Buffer.from(sealed, 'base64url');
  for (let at = 0; at < bytes.length; at += 7) {
    const forged = Buffer.from(bytes);
    forged[at] = (forged[at] ?? 0) ^ 1;
    assert.equal(sealer.open(forged.toString('base64url'), now), undefined, `byte ${at}`);
  }
  assert.equal(sealer.open(sealed.slice(0, 20), now), undefined);
  assert.equal(sealer.open('', now), undefined);
  assert.equal(createSealer(randomBytes(sessionKeyBytes)).open(sealed, now), undefined);
});

test('two sealings of one session differ, and two consoles of one host use two cookies', () => {
  const sealer = createSealer(key);
  const session = newSession('link', undefined, now);
  assert.notEqual(sealer.seal(session), sealer.seal(session));
  assert.notEqual(sealer.cookieName, createSealer(randomBytes(sessionKeyBytes)).cookieName);
});

test('a token that no cookie holds is refused, with what to do', () => {
  assert.throws(() => newSession('token', 'x'.repeat(5_000), now), /longer than/);
});

test('a cookie is found by its whole name', () => {
  assert.equal(cookieOf('a=1; sluice-x=abc=; b=2', 'sluice-x'), 'abc=');
  assert.equal(cookieOf('xsluice-x=abc', 'sluice-x'), undefined);
  assert.equal(cookieOf(undefined, 'sluice-x'), undefined);
});

test('a request of another site is refused, whatever it claims of its origin', () => {
  const ours = { host: 'console.example.com' };
  for (const headers of [
    { ...ours, 'sec-fetch-site': 'cross-site' },
    { ...ours, 'sec-fetch-site': 'same-site' },
    { ...ours, 'sec-fetch-site': 'none' },
    { ...ours, origin: 'https://evil.example.com' },
    { ...ours, origin: 'null' },
  ]) {
    assert.throws(() => requireSameOrigin(headers), /another site/, JSON.stringify(headers));
  }
  requireSameOrigin({ ...ours, 'sec-fetch-site': 'same-origin' });
  requireSameOrigin({ ...ours, origin: 'https://console.example.com' });
  requireSameOrigin(ours); // curl
});

test('the token of a session is good for that session alone', () => {
  const sealer = createSealer(key);
  const [mine, other] = [newSession('link', undefined, now), newSession('link', undefined, now)];
  requireCsrf({ 'x-csrf-token': sealer.csrfToken(mine) }, sealer, mine);
  assert.throws(
    () => requireCsrf({ 'x-csrf-token': sealer.csrfToken(other) }, sealer, mine),
    /lacks the token/,
  );
  assert.throws(() => requireCsrf({}, sealer, mine), /lacks the token/);
  assert.throws(() => requireCsrf({ 'x-csrf-token': '' }, sealer, mine), /lacks the token/);
});

test('a link is good once, and for an hour', async () => {
  const clock = createFakeClock(now);
  const codes = createOneTimeCodes(clock);
  const code = codes.create();
  assert.ok(codes.redeem(code));
  assert.ok(!codes.redeem(code));
  const old = codes.create();
  await clock.advance(3_600_001);
  assert.ok(!codes.redeem(old));
  assert.ok(!codes.redeem('nonsense'));
});
