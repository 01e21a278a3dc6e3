import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { emptyDigest } from './digest.ts';
import { formatReference, isRepositoryName, isTag, parseReference } from './reference.ts';

test('P8 references keep ports and IPv6 literals', () => {
  assert.deepEqual(parseReference('quay.io/a/b:1.0'), { host: 'quay.io', repository: 'a/b', tag: '1.0' });
  assert.deepEqual(parseReference(`[::1]:22625/x@${emptyDigest}`), {
    host: '[::1]:22625',
    repository: 'x',
    digest: emptyDigest,
  });
  assert.deepEqual(parseReference(`localhost:5000/a/b/c/d/e/f:t@${emptyDigest}`), {
    host: 'localhost:5000',
    repository: 'a/b/c/d/e/f',
    tag: 't',
    digest: emptyDigest,
  });
  for (const wrong of [
    '',
    'busybox',
    'library/busybox',
    'a.b/',
    'a.b/UP',
    'a.b/x:',
    'a.b:99999/x',
    '[::1/x',
    'a.b/x@sha256:0',
    `a.b/x@${emptyDigest}@${emptyDigest}`,
  ]) {
    assert.throws(() => parseReference(wrong), Error, wrong);
  }
});

test('a reference that is read is written the same', () => {
  const component = fc.stringMatching(/^[a-z0-9]{1,8}(?:[._-][a-z0-9]{1,4})?$/);
  const references = fc.record({
    host: fc.constantFrom('quay.io', 'localhost', 'a.b:5000', '[fd00::1]:22625', '127.0.0.1:1'),
    parts: fc.array(component, { minLength: 1, maxLength: 6 }),
    tag: fc.option(fc.stringMatching(/^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,20}$/), { nil: undefined }),
    digest: fc.constantFrom(undefined, emptyDigest),
  });
  fc.assert(
    fc.property(references, ({ host, parts, tag, digest }) => {
      const text = formatReference({
        host,
        repository: parts.join('/'),
        ...(tag === undefined ? {} : { tag }),
        ...(digest === undefined ? {} : { digest }),
      });
      assert.equal(formatReference(parseReference(text)), text);
    }),
  );
});

test('M20 names of repositories may be deep, and end at 255 characters', () => {
  assert.equal(isRepositoryName('a/b/c/d/e/f'), true);
  assert.equal(isRepositoryName('a'.repeat(255)), true);
  assert.equal(isRepositoryName('a'.repeat(256)), false);
  for (const wrong of ['', '/a', 'a/', 'a//b', 'A', 'a..b', '../a', 'a/_layers', '-a'])
    assert.equal(isRepositoryName(wrong), false, wrong);
  assert.equal(isTag('a'.repeat(128)), true);
  assert.equal(isTag('a'.repeat(129)), false);
  assert.equal(isTag('..'), false);
});
