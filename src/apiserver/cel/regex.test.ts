import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Budget, BudgetExceeded } from './budget.ts';
import { compileRegex } from './regex.ts';
import { RegexSyntaxError } from './regex-syntax.ts';

test('patterns match as RE2 does', async (t) => {
  const cases: [string, string, string | undefined][] = [
    [
      '^ocp-release-bundle-[0-9]+\\.[0-9]+\\.[0-9]+-[A-Za-z0-9._-]+$',
      'ocp-release-bundle-4.20.1-x86_64',
      'ocp-release-bundle-4.20.1-x86_64',
    ],
    ['^sha256:[a-f0-9]{64}$', `sha256:${'a'.repeat(64)}`, `sha256:${'a'.repeat(64)}`],
    ['^sha256:[a-f0-9]{64}$', `sha256:${'a'.repeat(63)}`, undefined],
    ['[a-zA-Z0-9-_.]*?$', 'x.y', 'x.y'],
    ['a|ab', 'ab', 'a'],
    ['(?i)HeLLo', 'say hello', 'hello'],
    ['(?i:A)b', 'ab', 'ab'],
    ['(?i:A)b', 'aB', undefined],
    ['(?s).+', 'a\nb', 'a\nb'],
    ['.+', 'a\nb', 'a'],
    ['(?m)^b$', 'a\nb', 'b'],
    ['^b$', 'a\nb', undefined],
    ['\\bfoo\\b', 'a foo b', 'foo'],
    ['\\Bo', 'foo', 'o'],
    ['\\Aab\\z', 'ab', 'ab'],
    ['[[:alpha:]]+', '12ab3', 'ab'],
    ['[^[:digit:]]+', '12ab3', 'ab'],
    ['\\pL+', '1é2', 'é'],
    ['\\p{Greek}', 'aβ', 'β'],
    ['\\P{L}', 'a1', '1'],
    ['\\x41\\x{1F600}', 'A😀', 'A😀'],
    ['\\Qa.b\\E', 'axb a.b', 'a.b'],
    ['a{2,3}', 'aaaa', 'aaa'],
    ['a{2,3}?', 'aaaa', 'aa'],
    ['a{,2}', 'a{,2}', 'a{,2}'],
    ['(?P<year>\\d{4})', 'in 2024', '2024'],
    ['(?<year>\\d{4})', 'in 2024', '2024'],
    ['(?U)a+', 'aaa', 'a'],
    ['x*', 'aaa', ''],
    ['(a*)*b', 'aab', 'aab'],
    ['[]a]+', ']a', ']a'],
    ['[\\]\\\\]+', '\\]', '\\]'],
    ['😀+', 'a😀😀', '😀😀'],
    ['', 'abc', ''],
  ];
  for (const [pattern, text, expected] of cases) {
    await t.test(`${pattern} on ${JSON.stringify(text.slice(0, 40))}`, () => {
      const found = compileRegex(pattern).find(text);
      assert.equal(found && text.slice(found.start, found.end), expected);
      assert.equal(compileRegex(pattern).test(text), expected !== undefined);
    });
  }
});

test('patterns that RE2 refuses', () => {
  const refused = [
    '(',
    ')',
    '[a',
    'a**',
    '*',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<!a)',
    '(a)\\1',
    '\\',
    'a{1001}',
    '(a{100}){100}',
    '[b-a]',
    '\\pX',
    '(?z)',
    '\\c',
    '[[:nope:]]',
  ];
  for (const pattern of refused) assert.throws(() => compileRegex(pattern), RegexSyntaxError, pattern);
});

test('property: the leftmost match is the one that JavaScript finds', () => {
  const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', 'c', '^', '$', '\\b');
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      atom,
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => `${left}${right}`),
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => `(?:${left}|${right})`),
      fc
        .tuple(
          fc.constantFrom('a', 'b', '.', '[ab]', 'ab', 'a|b'),
          fc.constantFrom('*', '+', '?', '{1,2}', '*?', '+?'),
        )
        .map(([inner, count]) => `(?:${inner})${count}`),
    ),
  }));
  fc.assert(
    fc.property(
      node,
      fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '\n'), maxLength: 12 }),
      (pattern, text) => {
        const expected = new RegExp(pattern, 'u').exec(text);
        const found = compileRegex(pattern).find(text);
        assert.deepEqual(found && text.slice(found.start, found.end), expected?.[0]);
        assert.deepEqual(found?.start, expected?.index);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a pattern costs what it does, and no more is spent than given', () => {
  const hostile = compileRegex('^((a{0,30}){0,30})*$');
  assert.throws(() => hostile.test(`${'a'.repeat(100_000)}!`, new Budget(100_000)), BudgetExceeded);
  const classic = compileRegex('^(a+)+$');
  assert.equal(classic.test(`${'a'.repeat(20_000)}!`), false);
});
