import assert from 'node:assert/strict';
import { chmod, chown, link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { needs } from '../../tests/tier.ts';
import { lookAtMarker, markerAllows, parseMarker, removeMarker, writeMarker } from './marker.ts';

const uid = process.getuid?.() ?? 0;
const rules = { allowWithoutExpiry: false, ownerUid: uid };
const parse = (text: string) => parseMarker(Buffer.from(text), rules);

test('B16 a marker that is not exactly understood gives no permission', () => {
  const refusals: [string, string][] = [
    ['', 'Empty'],
    ['{}', 'NoExpiry'],
    ['null', 'NotAnObject'],
    ['[1]', 'NotAnObject'],
    ['"x"', 'NotAnObject'],
    ['{"allow_until":1}', 'UnknownKey'],
    ['{"allowuntil":1}', 'UnknownKey'],
    ['{"allowUntil":null}', 'NotASecond'],
    ['{"allowUntil":"2030-01-01"}', 'NotASecond'],
    ['{"notAfter":1.5}', 'NotASecond'],
    ['{"notAfter":-1}', 'NotASecond'],
    ['{"notAfter":1900000000000}', 'TooFar'],
    ['{"notAfter":18446744073709551615}', 'NotASecond'],
    ['{"notAfter":1900000000,"allowUntil":1900000000}', 'BothKeys'],
    ['{"notAfter":1,"notAfter":1900000000}', 'NotJson'],
    ['{"notAfter":1900000000} trailing', 'NotJson'],
    ['{"notAfter":19000', 'NotJson'],
    ['\ufeff{"notAfter":1900000000}', 'NotJson'],
    [`{"notAfter":${'['.repeat(2000)}`, 'NotJson'],
    [' '.repeat(5000), 'TooLarge'],
    ['{"notAfter":1900000000,"once":"yes"}', 'WrongType'],
    ['{"notAfter":1900000000,"release":""}', 'WrongType'],
  ];
  for (const [text, reason] of refusals) {
    const look = parse(text);
    assert.equal(look.kind === 'denied' ? look.reason : 'allowed', reason, text.slice(0, 60));
  }
});

test('what is understood', () => {
  assert.deepEqual(parse('{"notAfter":1900000000}'), {
    kind: 'allowed',
    marker: { notAfter: 1900000000, once: false },
  });
  assert.deepEqual(parse('{"allowUntil":1900000000,"once":true,"release":"1.1.0"}'), {
    kind: 'allowed',
    marker: { notAfter: 1900000000, once: true, release: '1.1.0' },
  });
  assert.equal(parseMarker(Buffer.from('{}'), { allowWithoutExpiry: true }).kind, 'allowed');
});

test('the end is exclusive, and a marker for one release allows no other (B18)', () => {
  const marker = { notAfter: 1000, once: false, release: '1.1.0' };
  assert.equal(markerAllows(marker, { version: '1.1.0' }, 999_999).kind, 'allowed');
  assert.equal(markerAllows(marker, { version: '1.1.0' }, 1_000_000).kind, 'denied');
  const other = markerAllows(marker, { version: '1.2.0' }, 0);
  assert.equal(other.kind === 'denied' && other.reason, 'OtherRelease');
});

test('who may have written it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-marker-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'allowfinalize.json');
  const reason = async (at = path) => {
    const look = await lookAtMarker(at, rules);
    return look.kind === 'denied' ? look.reason : 'allowed';
  };
  assert.equal(await reason(), 'NoMarker');
  assert.equal(await reason(join(directory, 'none', 'allowfinalize.json')), 'NoMarker');
  await writeMarker(path, { notAfter: 1900000000, once: false });
  assert.equal(await reason(), 'allowed');
  await chmod(path, 0o664);
  assert.equal(await reason(), 'Writable');
  await chmod(path, 0o644);
  await link(path, join(directory, 'second'));
  assert.equal(await reason(), 'Link');
  await rm(join(directory, 'second'));
  await symlink(path, join(directory, 'link'));
  assert.equal(await reason(join(directory, 'link')), 'Link');
  await mkdir(join(directory, 'folder'));
  assert.equal(await reason(join(directory, 'folder')), 'NotAFile');
  await writeFile(join(directory, 'large'), ' '.repeat(10_000_000));
  assert.equal(await reason(join(directory, 'large')), 'TooLarge');
  await chmod(directory, 0o777);
  assert.equal(await reason(), 'DirectoryWritable');
  await chmod(directory, 0o755);
  assert.equal(await removeMarker(path), true);
  assert.equal(await removeMarker(path), false);
});

test('a marker of another user is no permission', needs('root'), async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-marker-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'allowfinalize.json');
  await writeMarker(path, { notAfter: 1900000000, once: false });
  await chown(path, 1234, 0);
  const look = await lookAtMarker(path, rules);
  assert.equal(look.kind === 'denied' && look.reason, 'WrongOwner');
});
