import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSluiceError } from '../errors/error.ts';
import { lines } from './watch.ts';

async function* chunks(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function collect(parts: readonly Uint8Array[], bytesMax = 1000): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines(chunks(parts), bytesMax)) found.push(line);
  return found;
}

const bytes = (text: string) => Buffer.from(text, 'utf8');

test('a line that is cut at the end is no line', async () => {
  assert.deepEqual(await collect([bytes('{"a":1}\n{"b"')]), ['{"a":1}']);
});

test('lines are the same however the bytes arrive, also inside a character', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc
          .string({ unit: 'grapheme', maxLength: 12 })
          .filter((line) => !line.includes('\n') && line.trim() !== ''),
      ),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      async (texts, sizes) => {
        const whole = bytes(texts.map((text) => `${text}\n`).join(''));
        const parts: Uint8Array[] = [];
        for (let start = 0, turn = 0; start < whole.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          parts.push(whole.subarray(start, start + size));
          start += size;
        }
        assert.deepEqual(await collect(parts), texts);
      },
    ),
    { numRuns: 100 },
  );
});

test('a line without end is refused, not kept', async () => {
  await assert.rejects(collect([bytes('x'.repeat(600)), bytes('x'.repeat(600))]), (error) =>
    isSluiceError(error, 'InputTooLarge'),
  );
});
