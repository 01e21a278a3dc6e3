import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wordsOf } from '../../tests/shell.ts';
import { shellWord } from './shell.ts';

test('any words come back from a shell as they were', () => {
  // No argument of a program can hold a zero byte.
  const word = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '').toWellFormed()),
    fc.constantFrom(
      '',
      ' ',
      "it's",
      '$HOME',
      '`id`',
      '~',
      '*',
      '<sluice.pub>',
      '-n',
      '\n',
      '/tmp/x y',
      '#',
      '!!',
    ),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      assert.deepEqual(wordsOf(words.map(shellWord).join(' ')), words);
    }),
    { numRuns: 40 },
  );
});

test('a word that needs no quotes has none', () => {
  for (const word of ['/var/lib/sluice/up', 'KUBECONFIG=/tmp/a.b/kubeconfig', 'web=oci:./images:web@1']) {
    assert.equal(shellWord(word), word);
  }
});
