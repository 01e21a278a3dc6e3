import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareVersions, newestFirst, parseVersion, sameMinor, tryVersion } from './version.ts';

test('P-78 what is no semantic version is refused, not guessed', () => {
  for (const text of [
    '4.9',
    'v4.9.1',
    '4.09.1',
    ' 4.9.1',
    '4.9.1 ',
    '',
    '4.9.1-',
    '4.9.1-01',
    '1.2.3+',
    `1.0.0-${'a'.repeat(300)}`,
  ]) {
    assert.equal(tryVersion(text), undefined, text);
  }
});

test('P-76 versions are ordered by number, pre-releases before their release', () => {
  const ordered = [
    '4.2.0',
    '4.9.0',
    '4.10.0-ec.1',
    '4.10.0-fc.0',
    '4.10.0-rc.1',
    '4.10.0-rc.11',
    '4.10.0',
    '4.13.0-0.okd-2023-05-22-052007',
    '4.19.0-okd-scos.17',
    '4.20.0-0.nightly-2025-08-19-180353',
    '5.0.0',
    '5.0.99999999999999999999',
  ];
  assert.deepEqual(
    [...ordered].sort((a, b) => newestFirst(b, a)),
    ordered,
  );
});

test('build metadata does not count in the order', () => {
  assert.equal(compareVersions(parseVersion('4.2.16+amd64'), parseVersion('4.2.16')), 0);
});

test('P-68 the same minor means the same major too', () => {
  assert.equal(sameMinor(parseVersion('4.1.0'), parseVersion('5.1.0')), false);
  assert.equal(sameMinor(parseVersion('4.10.0-rc.1'), parseVersion('4.10.0')), true);
});

test('the order is total and antisymmetric', () => {
  const part = fc.integer({ min: 0, max: 30 });
  const version = fc
    .tuple(part, part, part, fc.option(fc.constantFrom('rc.1', 'rc.2', 'ec.1', '0.x', 'a-b')))
    .map(([a, b, c, pre]) => parseVersion(`${a}.${b}.${c}${pre === null ? '' : `-${pre}`}`));
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      assert.equal(Math.sign(compareVersions(a, b)), -Math.sign(compareVersions(b, a)));
      if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) assert.ok(compareVersions(a, c) <= 0);
    }),
  );
});
