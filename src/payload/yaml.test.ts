import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SluiceError } from '../errors/error.ts';
import { parseImageReferences } from './references.ts';
import { parseYamlDocuments } from './yaml.ts';

const parse = (text: string) => parseYamlDocuments(Buffer.from(text), 'file.yaml');

test('scalars are read as kubectl reads them', () => {
  assert.deepEqual(parse('a: yes\nb: 012\nc: off\nd: 1_000\ne: 0x10\nf: ~\n')[0], {
    a: true,
    b: 10,
    c: false,
    d: 1000,
    e: 16,
    f: null,
  });
  // sigs.k8s.io/yaml keeps these as texts, although YAML 1.1 has kinds for them.
  assert.deepEqual(parse('a: 2020-01-01\nb: 22:22\nc: 1:30.5\nd: "yes"\n')[0], {
    a: '2020-01-01',
    b: '22:22',
    c: '1:30.5',
    d: 'yes',
  });
});

test('documents are many or none, and empty ones are left out', () => {
  assert.deepEqual(parse(''), []);
  assert.deepEqual(parse('---\n---\nnull\n---\na: 1\n---\nb: 2\n'), [{ a: 1 }, { b: 2 }]);
  assert.deepEqual(parse('{"a": 1}'), [{ a: 1 }]);
  assert.deepEqual(parse('{a: 1}'), [{ a: 1 }]);
});

test('keys twice, bombs, depth and what JSON cannot carry are refused with the file named', () => {
  const laughs = `a: &a [x, x]\n${[...'bcdefghijk'].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[index]}`).join(', ')}]`).join('\n')}`;
  for (const text of ['a: 1\na: 2\n', laughs, 'a: .inf\n', 'a: [1\n', '{"a":1,"a":2}']) {
    assert.throws(() => parse(text), { code: 'InputInvalid', message: /file\.yaml/ });
  }
  for (const text of [`a: ${'['.repeat(100_000)}`, '[a,'.repeat(20_000), '- '.repeat(20_000)]) {
    assert.throws(() => parse(text), SluiceError);
  }
  assert.throws(() => parse('[a,'.repeat(70) + ']'.repeat(70)), { code: 'InputTooLarge' });
  assert.throws(() => parse(`x${'\n'.repeat(1)}`.repeat(3_000_000)), { code: 'InputTooLarge' });
});

test('any text is read or refused, never more', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .array(
        fc.constantFrom(
          'a: ',
          '- ',
          '[',
          ']',
          '{',
          '}',
          '\n',
          '  ',
          '&a ',
          '*a',
          '!!set ',
          '"',
          "'",
          '|\n',
          '? ',
          '---\n',
          ': ',
        ),
        {
          maxLength: 40,
        },
      )
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (each) => {
      for (const read of [
        parse,
        (bytes: string) => parseImageReferences(Buffer.from(bytes), 'image-references'),
      ]) {
        try {
          read(each);
        } catch (error) {
          assert.ok(error instanceof SluiceError, `${JSON.stringify(each)}: ${(error as Error).stack}`);
        }
      }
    }),
    { numRuns: 1000 },
  );
});
