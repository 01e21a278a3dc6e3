import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HistoryEntry, historyMax, noteHistory } from './history.ts';

const image = (letter: string) => `quay.example/release@sha256:${letter.repeat(64)}`;
const t1 = '2026-01-01T00:00:00Z';
const t2 = '2026-01-02T00:00:00Z';
const t3 = '2026-01-03T00:00:00Z';
const a = { version: '1.0.0', image: image('a'), verified: true };
const b = { version: '1.1.0', image: image('b'), verified: true };

test('an update is Partial, then Completed, in one entry', () => {
  const begun = noteHistory([], { ...a, completed: false }, t1);
  assert.deepEqual(begun, [{ state: 'Partial', startedTime: t1, completionTime: null, ...a }]);
  const done = noteHistory(begun, { ...a, completed: true }, t2);
  assert.deepEqual(done, [{ state: 'Completed', startedTime: t1, completionTime: t2, ...a }]);
  assert.deepEqual(noteHistory(done, { ...a, completed: true }, t3), done);
});

test('a retarget ends the entry before with the time of the next', () => {
  const begun = noteHistory([], { ...a, completed: false }, t1);
  const [next, before] = noteHistory(begun, { ...b, completed: false }, t2);
  assert.deepEqual([next?.version, next?.completionTime], ['1.1.0', null]);
  assert.deepEqual([before?.state, before?.completionTime], ['Partial', t2]);
});

test('P-66 a time of completion that was written stays', () => {
  const done = noteHistory([], { ...a, completed: true }, t1);
  assert.equal(noteHistory(done, { ...b, completed: false }, t2)[1]?.completionTime, t1);
});

test('what was accepted is kept by later notes that say nothing of it (#852)', () => {
  const begun = noteHistory([], { ...a, completed: false, acceptedRisks: 'Forced …' }, t1);
  assert.equal(noteHistory(begun, { ...a, completed: true }, t2)[0]?.acceptedRisks, 'Forced …');
});

test('P-90 the same digest by a mirror is the same release; the same version of another digest is not', () => {
  const begun = noteHistory([], { ...a, completed: false }, t1);
  assert.equal(
    noteHistory(begun, { ...a, image: a.image.replace('quay', 'mirror'), completed: true }, t2).length,
    1,
  );
  assert.equal(noteHistory(begun, { ...a, image: image('c'), completed: false }, t2).length, 2);
});

test('a long history keeps the first, the newest, and what opened and closed a minor version', () => {
  let history: HistoryEntry[] = [];
  for (let minor = 0; minor < 12; minor += 1) {
    for (let patch = 0; patch < 12; patch += 1) {
      const digest = `${minor}-${patch}`;
      history = noteHistory(
        history,
        {
          version: `4.${minor}.${patch}`,
          image: `q.example/r@${digest}`,
          verified: true,
          completed: patch % 3 !== 1,
        },
        t1,
      );
    }
  }
  assert.equal(history.length, historyMax);
  const versions = history.map((entry) => entry.version);
  assert.equal(versions.at(-1), '4.0.0');
  assert.deepEqual(versions.slice(0, 3), ['4.11.11', '4.11.10', '4.11.9']);
  for (let minor = 1; minor < 12; minor += 1) assert.ok(versions.includes(`4.${minor}.0`), `4.${minor}.0`);
});
