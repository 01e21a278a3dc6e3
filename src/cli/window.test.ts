import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { repository } from '../../tests/tier.ts';
import { isSluiceError } from '../errors/error.ts';
import { nodesToOpen, otherReleaseWarning, placeOf } from './window.ts';

const cluster = (by: string) => ({ kind: 'cluster', by });
const host = { kind: 'host' };

test('KUBECONFIG means its cluster, as it does for every other command', () => {
  assert.deepEqual(placeOf({}, { KUBECONFIG: '/a' }), cluster('KUBECONFIG=/a'));
  assert.deepEqual(placeOf({}, {}), host);
  assert.deepEqual(placeOf({}, { KUBECONFIG: '' }), host);
});

test('flags decide before the environment', () => {
  const environment = { KUBECONFIG: '/a' };
  assert.deepEqual(placeOf({ host: true }, environment), host);
  assert.deepEqual(placeOf({ marker: '/m' }, environment), host);
  assert.deepEqual(placeOf({ nodes: 'all' }, {}), cluster('--nodes all'));
  assert.deepEqual(placeOf({ kubeconfig: '/b', nodes: 'all' }, environment), cluster('--kubeconfig /b'));
  assert.deepEqual(placeOf({ context: 'c' }, {}), cluster('--context c'));
  assert.deepEqual(placeOf({ all: true }, {}), cluster('--all'));
});

test('words that mean both are refused', () => {
  for (const words of [
    { host: true, nodes: 'all' },
    { host: true, all: true },
    { marker: '/m', kubeconfig: '/b' },
  ]) {
    assert.throws(
      () => placeOf(words, {}),
      (error) => isSluiceError(error, 'Usage'),
    );
  }
});

test('a window of a cluster is opened only on nodes that somebody has named, or on all that he asked for', () => {
  assert.equal(nodesToOpen({ nodes: 'master-0' }, '--kubeconfig /b'), 'master-0');
  assert.equal(nodesToOpen({ all: true }, 'KUBECONFIG=/a'), 'all');
  assert.throws(
    () => nodesToOpen({}, 'KUBECONFIG=/a'),
    (error) =>
      isSluiceError(error, 'Usage') &&
      /KUBECONFIG=\/a/.test(error.message) &&
      /--nodes .*--all.*--host/.test(error.next),
  );
});

test('a window for one release warns on a node that has another one staged', () => {
  assert.match(
    otherReleaseWarning('2.0.0', 'master-0', '1.1.0') ?? '',
    /^warning: master-0 has 1\.1\.0 staged.*--release 1\.1\.0$/,
  );
  assert.equal(otherReleaseWarning('1.1.0', 'master-0', '1.1.0'), undefined);
  assert.equal(otherReleaseWarning('1.1.0', 'master-0', undefined), undefined);
  assert.equal(otherReleaseWarning(undefined, 'master-0', '1.1.0'), undefined);
});

test('the answer says for which release alone a window is open', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-window-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const marker = join(directory, 'marker');
  const words = ['window', 'open', '--until', '1h', '--release', '2.0.0', '--marker', marker];
  const { status, stderr } = spawnSync(join(repository, 'sluice'), words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /window open on this host until [^ ]*:\d\dZ, for 2\.0\.0 only \(/);
  const shown = spawnSync(join(repository, 'sluice'), ['window', 'status', '--marker', marker], {
    encoding: 'utf8',
  });
  assert.match(shown.stdout, /^open until [^ ]*:\d\dZ \(.*only into 2\.0\.0/);
});

test('the window of this host is told as data where that is asked for, when it is opened as later', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-window-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'marker');
  const window = (...words: string[]) => {
    const all = ['window', ...words, '--marker', path, '-o', 'json'];
    const { stdout, stderr } = spawnSync(join(repository, 'sluice'), all, { encoding: 'utf8' });
    assert.doesNotMatch(stderr, /window (?:open|closed) on/);
    return JSON.parse(stdout) as unknown;
  };
  const marker = { notAfter: Date.parse('2090-01-01T04:00:00Z') / 1000, once: false };
  assert.deepEqual(window('open', '--until', '2090-01-01T04:00:00Z'), {
    path,
    state: 'open',
    kind: 'allowed',
    marker,
  });
  assert.deepEqual(window('close'), { path, state: 'closed', wasThere: true });
});
