import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { SluiceError } from '../errors/error.ts';
import { cleanText, documentBytesMax, parseCheckOutput } from './result.ts';

const identity = { runID: 'r1', check: 'demo', targetDigest: `sha256:${'b'.repeat(64)}` };

function frame(body: string | Uint8Array, claims: { length?: number; hash?: string } = {}): Buffer {
  const bytes = Buffer.from(body);
  const hash = claims.hash ?? createHash('sha256').update(bytes).digest('hex');
  return Buffer.concat([
    Buffer.from(`SLUICE-RESULT v1 ${claims.length ?? bytes.length} ${hash}\n`),
    bytes,
    Buffer.from('\n'),
  ]);
}

const document = JSON.stringify({
  ...identity,
  message: 'looked',
  risks: [{ name: 'DualStack', message: 'two families', objects: ['network/cluster'], next: 'choose one' }],
});

test('a whole document among the talk of the check', () => {
  const output = Buffer.concat([
    Buffer.from('starting\nI will print SLUICE-RESULT v1 soon\n'),
    frame(document),
    Buffer.from('bye\n'),
  ]);
  const result = parseCheckOutput(output, identity);
  assert.equal(result.message, 'looked');
  assert.deepEqual(result.risks, [
    {
      name: 'DualStack',
      severity: 'blocking',
      message: 'two families',
      objects: ['network/cluster'],
      next: 'choose one',
    },
  ]);
});

test('P-116 a document that was cut anywhere is refused', () => {
  const whole = frame(document);
  for (let length = 0; length < whole.length - 1; length += 7) {
    assert.throws(() => parseCheckOutput(whole.subarray(0, length), identity), SluiceError);
  }
});

for (const [name, output, words] of [
  ['a wrong hash', frame(document, { hash: '0'.repeat(64) }), /hash/],
  ['a length that reaches past the end', frame(document, { length: 9999 }), /cut off/],
  ['a length over the limit', frame(document, { length: documentBytesMax + 1 }), /limit/],
  ['two documents', Buffer.concat([frame(document), frame(document)]), /2 result documents/],
  ['no JSON', frame('{'), /not JSON/],
  ['not UTF-8', frame(Uint8Array.from([0x22, 0xff, 0x22])), /not JSON/],
  ['a list', frame('[]'), /not an object/],
  ['another run', frame(document.replace('"r1"', '"r0"')), /runID "r0", and this is "r1"/],
  ['another digest', frame(document.replaceAll('bbb', 'ccc')), /targetDigest/],
  ['a name that is no name', frame(document.replace('DualStack', 'dual stack')), /no name such as/],
  [
    'a severity of its own',
    frame(document.replace('"name"', '"severity":"fatal","name"')),
    /none of blocking/,
  ],
  ['a risk without words', frame(document.replace('two families', '')), /no message/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => parseCheckOutput(output, identity), words);
  });
}

test('P-118 words of others are made fit for a status', () => {
  assert.equal(cleanText('a\u0000b\ud800c\tz\nd'), 'a b\ufffdc z\nd');
  assert.equal(cleanText('x'.repeat(5000)).length, 4096);
});

test('no output makes the parser do anything but answer or refuse', () => {
  const soup = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.string().map((text) => Buffer.from(`SLUICE-RESULT v1 ${text}\n`)),
  );
  fc.assert(
    fc.property(soup, (bytes) => {
      assert.throws(() => parseCheckOutput(bytes, identity), SluiceError);
    }),
  );
});
