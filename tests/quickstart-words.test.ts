import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWords } from '../demo/words.ts';

for (const [word, next] of [
  ['--kep', 'Did you mean --keep? See ./quickstart --help'],
  ['--helpp', 'Did you mean --help? See ./quickstart --help'],
  ['stop', 'Did you mean --stop? See ./quickstart --help'],
  ['--verbose', 'See ./quickstart --help'],
  ['--runner=docker', 'See ./quickstart --help'],
] as const) {
  test(`./quickstart ${word}: ${next}`, () => {
    assert.throws(() => readWords([word]), { code: 'Usage', next });
  });
}

test('a run that is held is kept', () => {
  assert.equal(readWords(['--held']).keep, true);
  assert.equal(readWords(['--json']).keep, false);
});
