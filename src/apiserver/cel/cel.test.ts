import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../schema/json.ts';
import { Budget, BudgetExceeded } from './budget.ts';
import { CelCompileError, compileExpression } from './cel.ts';
import { dyn, type Typing, toCel, toJson } from './typing.ts';
import { CelError } from './values.ts';

const self = {
  a: 3,
  f: 1.5,
  name: 'abc',
  list: [1, 2, 3],
  names: ['a', 'b'],
  map: { x: 1, y: 2 },
  nothing: null,
  nested: { deep: { value: 'v' } },
};

function evaluate(source: string, value: JsonValue = self, typing: Typing = dyn): JsonValue {
  const expression = compileExpression(source, { self: typing });
  return toJson(expression.evaluate({ self: toCel(value, typing) }));
}

const truths = `
  self.a + 1 == 4
  self.a * 2 - 1 == 5 && self.a / 2 == 1 && self.a % 2 == 1
  self.f + 0.5 == 2.0
  -self.a == -3
  dyn(1) == 1.0 && dyn(1u) == 1 && dyn('1') != 1 && 2 > 1.5 && 1.5 < 2u
  dyn([1, 2]) == dyn([1.0, 2.0])
  {'a': 1, 'b': 2} == {'b': 2, 'a': 1}
  {'a': dyn('x'), 'b': dyn(1)} == {'b': dyn(1), 'a': dyn('x')}
  self.map == {'y': 2, 'x': 1}
  'a' < 'b' && b'a' < b'b' && false < true
  "x" in self.map && !("z" in self.map)
  2 in self.list && !(4 in self.list)
  has(self.name) && !has(self.absent) && !has(self.nested.absent)
  has(self.nothing) && self.nothing == null
  string(1e6) == '1e+06' && string(0.1) == '0.1' && string(123456.5) == '123456.5' && 'abc'.indexOf('c', 9) == -1
  quantity('1Ei').isInteger() == false && quantity('1000m').isInteger() == false && quantity('1Mi').asInteger() == 1048576
  duration('3723004ms').getMilliseconds() == 3723004
  self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.exists_one(x, x == 2)
  self.list.map(x, x * 2) == [2, 4, 6]
  self.list.map(x, x > 1, x * 2) == [4, 6]
  self.list.filter(x, x > 1) == [2, 3]
  self.map.all(k, self.map[k] > 0) && self.map.exists(k, k == 'x')
  self.map.map(k, k) == ['x', 'y']
  self.list.all(i, v, v == i + 1) && self.map.exists(k, v, k == 'y' && v == 2) && self.list.existsOne(i, v, v == 2)
  self.list.transformList(i, v, i * v) == [0, 2, 6]
  self.map.transformMap(k, v, v + 1) == {'x': 2, 'y': 3}
  self.list.all(x, self.list.exists(y, x == y))
  self.list.map(x, self.list.map(y, x * y)) == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]
  [[1, 2], [3]].all(x, x.all(x, x > 0))
  size(self.list) == 3 && self.list.size() == 3 && size(self.map) == 2 && size('') == 0
  size('héllo😀') == 6 && size(b'ab') == 2
  self.nested.deep.value == 'v' && self['nested']['deep'].value == 'v'
  self.list[0] == 1 && [1, 2, 3][2] == 3
  true ? 1 == 1 : 1 / 0 == 0
  true || 1 / 0 == 1
  1 / 0 == 1 || true
  !(1 / 0 == 1 && false)
  [0, 1].exists(x, 1 / x == 1)
  ![0, 1].all(x, 1 / x == 2)
  'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')
  'abc'.matches('^a.c$') && matches('abc', 'b') && !'abc'.matches('^b')
  'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c']
  ['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b'
  'tacocat'.indexOf('ac', 3) == -1 && 'tacocat'.indexOf('a') == 1 && 'tacocat'.lastIndexOf('a') == 5
  'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'tacocat'.charAt(3) == 'o'
  'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'
  'TaCo'.lowerAscii() == 'taco' && 'TaCo'.upperAscii() == 'TACO' && ' a '.trim() == 'a'
  '%d is %s, %.2f %x %%'.format([dyn(3), 'x', 1.5, 255]) == '3 is x, 1.50 ff %'
  '%s'.format([[dyn(1), 'a', {'k': true}]]) == '[1, "a", {"k":true}]'
  'abc123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]') == ['1', '2', '3'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']
  [1, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3 && [1.5].sum() == 1.5 && [].sum() == 0
  [3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && ['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2
  sets.contains([1, 2, 3], [3, 1]) && sets.equivalent([1, 1, 2], [2, 1]) && sets.intersects([1], [2, 1])
  int('42') == 42 && int(2.9) == 2 && double('1.5') == 1.5 && string(42) == '42' && bool('true') && uint(3) == 3u
  type(1) == int && type('a') == string && type([]) == list && type({}) == map && type(null) == null_type
  duration('1h30m').getMinutes() == 90 && duration('1m') + duration('30s') == duration('90s')
  timestamp('2024-02-29T12:00:00Z') < timestamp('2024-03-01T00:00:00Z')
  timestamp('2024-02-29T12:30:45.5Z').getHours() == 12 && timestamp('2024-02-29T12:30:45Z').getDayOfYear() == 59
  timestamp('2024-02-29T23:30:00Z').getDate('+01:00') == 1 && timestamp('2024-07-01T00:00:00Z').getHours('Europe/Prague') == 2
  timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')
  string(timestamp('2024-01-02T00:00:00Z')) == '2024-01-02T00:00:00Z' && string(duration('90s')) == '90s'
  self.?absent.orValue('d') == 'd' && self.?name.orValue('d') == 'abc' && self.?nested.?deep.?value.orValue('') == 'v'
  self.?nested.deep.value.hasValue() && !self.?absent.deep.hasValue()
  self[?'name'].value() == 'abc' && self.list[?7].orValue(0) == 0
  optional.of(1).or(optional.of(2)).value() == 1 && optional.none().or(optional.of(2)).value() == 2
  optional.ofNonZeroValue('').hasValue() == false && optional.of(2).optMap(x, x * 2).value() == 4
  optional.of(2).optFlatMap(x, optional.none()).hasValue() == false
  isURL('https://example.com:80/path?k=a') && !isURL('../x') && url('https://example.com:80/path').getHost() == 'example.com:80'
  url('https://[::1]:80/').getHostname() == '::1' && url('https://example.com:80/').getPort() == '80' && url('/a').getScheme() == ''
  url('https://example.com/a b').getEscapedPath() == '/a%20b' && url('https://[fe80::1%25en0]/').getHostname() == 'fe80::1%en0'
  url('https://example.com/p?k=a&k=b').getQuery() == {'k': ['a', 'b']} && url('https://example.com').getEscapedPath() == ''
  isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP('::ffff:1.2.3.4') && ip('::1').family() == 6
  ip('127.0.0.1').isLoopback() && ip('10.0.0.1').isGlobalUnicast() && ip('0.0.0.0').isUnspecified() && ip('fe80::1').isLinkLocalUnicast()
  ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::1') && ip('::1') == ip('0:0:0:0:0:0:0:1')
  string(ip('2001:0db8:0:0:0:0:0:1')) == '2001:db8::1'
  isCIDR('192.168.0.0/24') && !isCIDR('192.168.0.0/33') && cidr('192.168.0.0/24').containsIP('192.168.0.7')
  !cidr('192.168.0.0/24').containsIP('192.168.1.7') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')
  cidr('2001:db8::/32').prefixLength() == 32 && cidr('10.0.0.0/8').ip() == ip('10.0.0.0')
  quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('200m').compareTo(quantity('0.2')) == 0 && isQuantity('1Ki') && !isQuantity('1K')
  quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k') && quantity('50k').asInteger() == 50000
  sign(quantity('-1')) == -1 && quantity('1.5').isInteger() == false && quantity('1e3') == quantity('1k')
  !format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My.Name').hasValue()
  !format.dns1123Subdomain().validate('example.com').hasValue() && format.named('nope').hasValue() == false
  format.qualifiedName().validate('a/b/c').hasValue() && !format.labelValue().validate('').hasValue()
  isSemver('1.2.3') && !isSemver('v1.2.3') && semver('1.2.3').isLessThan(semver('1.10.0')) && semver('2.0.0').major() == 2
  ['a', 'b'] + ['c'] == ['a', 'b', 'c'] && 'a' + 'b' == 'ab'
  9223372036854775807 == 9223372036854775807
  r'\\d' == '\\\\d' && "\\u00e9" == 'é' && '''a''' == 'a'
`;

test('CEL: what holds', async (t) => {
  for (const line of truths.split('\n').map((text) => text.trim())) {
    if (line === '') continue;
    await t.test(line, () => assert.equal(evaluate(line), true));
  }
});

const failures: [string, RegExp][] = [
  ['self.absent', /^no such key: absent$/],
  ['self.list[7]', /^index out of bounds: 7$/],
  ['self.a / 0', /^division by zero$/],
  ['self.a % 0', /^modulus by zero$/],
  ['9223372036854775807 + self.a', /^integer overflow$/],
  ['self.a + self.name', /^no such overload$/],
  ['self.name > 1', /^no such overload$/],
  ['self.nothing.x', /^no such overload$/],
  ['has(self.absent.x)', /^no such key: absent$/],
  ['self.list.exists_one(x, 1 / (x - 1) > 0)', /^division by zero$/],
  ['self.name.matches("(?" + "=a)")', /^error parsing regexp: invalid or unsupported Perl syntax/],
  ['self.name.matches("(a)" + "\\\\1")', /^error parsing regexp: invalid escape sequence/],
  ['quantity(self.name)', /^quantities must match the regular expression/],
  ['ip(self.name)', /parse error during conversion from string/],
  ['optional.none().value()', /^optional.none\(\) dereference$/],
  ["{'a': 1, 'a': 2}", /repeated key a/],
];

test('CEL: errors of evaluation', async (t) => {
  for (const [source, expected] of failures) {
    await t.test(source, () => assert.throws(() => evaluate(source), errorLike(CelError, expected)));
  }
});

const typed: Typing = {
  name: 'map',
  fields: () =>
    new Map([
      ['count', { json: 'count', typing: { name: 'int' } }],
      ['ratio', { json: 'ratio', typing: { name: 'double' } }],
      ['text', { json: 'text', typing: { name: 'string' } }],
      ['since', { json: 'since', typing: { name: 'timestamp' } }],
      ['a__dash__b', { json: 'a-b', typing: { name: 'string' } }],
      ['items', { json: 'items', typing: { name: 'list', item: { name: 'string' } } }],
      ['tags', { json: 'tags', typing: { name: 'list', item: { name: 'string' }, listKind: 'set' } }],
    ]),
};

test('CEL: types are checked before anything is evaluated', async (t) => {
  const refused: [string, RegExp][] = [
    ['self.absent == 1', /undefined field 'absent'/],
    ['has(self.absent)', /undefined field 'absent'/],
    ['self.count + self.text == 1', /no matching overload for '_\+_' applied to '\(int, string\)'/],
    ['self.count == self.text', /no matching overload for '_==_'/],
    ['self.text.nope()', /undeclared reference to 'nope'/],
    ['self.count.startsWith("a")', /no matching overload for 'startsWith' applied to 'int\.\(string\)'/],
    ['self.text.startsWith(1)', /no matching overload/],
    ['other.x', /undeclared reference to 'other'/],
    ['self.text && true', /expected type 'bool' but found 'string'/],
    ['self.count.all(x, true)', /cannot be range of a comprehension/],
    ['self.items.all(x, x)', /expected type 'bool' but found 'string'/],
    ['self.text', /^must evaluate to bool but got string$/],
    ['dyn(self.text)', /^must evaluate to bool but got dyn$/],
    ['self.items == [1]', /applied to '\(list\(string\), list\(int\)\)'/],
    ["true ? 1 : 'a'", /'_\?_:_' applied to '\(bool, int, string\)'/],
    ["[1, 'a'] == []", /:1:5: expected type 'int' but found 'string'/],
    ['self.text == null', /applied to '\(string, null\)'/],
    ['self.?absent.hasValue()', /undefined field 'absent'/],
    ["optional.of(1).orValue('a') == 1", /'orValue' applied to 'optional_type\(int\)\.\(string\)'/],
    ['-self.text == 1', /'-_' applied to '\(string\)'/],
    ['self.items[self.text] == self.text', /'_\[_\]' applied to '\(list\(string\), string\)'/],
    ['self.items.sum() == 1', /'sum' applied to 'list\(string\)\.\(\)'/],
    ["self.text.matches('(?=a)')", /invalid matches argument/],
    ["timestamp('x') == self.since", /invalid timestamp argument/],
    ['cel.bind(x, 1, x) == 1', /undeclared reference to 'cel'/],
    ['self.', /Syntax error/],
    ['self.items.all(1, true)', /:1:16: argument must be a simple name/],
    ['has(self)', /:1:5: invalid argument to has\(\) macro/],
    ['as', /:1:1: reserved identifier: as/],
  ];
  for (const [source, expected] of refused) {
    await t.test(source, () =>
      assert.throws(
        () => compileExpression(source, { self: typed }, ['bool']),
        errorLike(CelCompileError, expected),
      ),
    );
  }
});

test('CEL: an error shows its place', () => {
  const source = '\n\n  self.absent == 1';
  assert.throws(
    () => compileExpression(source, { self: typed }),
    errorLike(
      CelCompileError,
      /^compilation failed: ERROR: <input>:3:7: undefined field 'absent'\n \| {3}self\.absent == 1\n \| \.\.\.\.\.\.\^$/,
    ),
  );
});

test('CEL: integers stay integers, and schemas say what a value is', () => {
  const value = {
    count: 3,
    ratio: 2,
    text: 't',
    since: '2024-01-01T00:00:00Z',
    'a-b': 'dash',
    tags: ['x', 'y'],
  };
  const holds = (source: string) => evaluate(source, value, typed);
  assert.equal(holds('self.count + 1 == 4 && self.count / 2 == 1'), true);
  assert.equal(holds('self.ratio / 4.0 == 0.5'), true);
  assert.equal(
    holds("self.since.getFullYear() == 2024 && self.since > timestamp('2023-01-01T00:00:00Z')"),
    true,
  );
  assert.equal(holds("self.a__dash__b == 'dash'"), true);
  assert.equal(holds("self.tags == ['y', 'x']"), true, 'a set has no order');
  assert.equal(holds("self.tags + ['x', 'z'] == ['x', 'y', 'z']"), true);
});

test('CEL: hostile expressions end', async (t) => {
  const many = Array.from({ length: 300 }, (_, at) => at);
  const hostile: [string, string][] = [
    ['nested loops', 'self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))'],
    ['nested maps', 'self.map(a, self.map(b, self.map(c, [a, b, c]))).size() > 0'],
    [
      'doubling strings',
      Array.from({ length: 40 }).reduce<string>(
        (inner, _, at) => `[${at === 0 ? "'ab'" : 's'}].map(s, s + s).map(s, ${inner})[0]`,
        's',
      ),
    ],
    [
      'doubling lists',
      `${'['.repeat(1)}self].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a)`,
    ],
    ['catastrophic pattern', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$') || true"],
    ['counted pattern', `'${'a'.repeat(5000)}!'.matches('^((a{0,30}){0,30}){0,1}$') || true`],
  ];
  for (const [name, source] of hostile) {
    await t.test(name, () => {
      const started = performance.now();
      try {
        compileExpression(source, { self: dyn }).evaluate({ self: toCel(many) });
      } catch (error) {
        assert.ok(
          error instanceof BudgetExceeded || error instanceof CelError || error instanceof CelCompileError,
          String(error),
        );
      }
      // No assertion on speed, only that it ends in this lifetime: unbounded, each would take hours or all memory.
      assert.ok(performance.now() - started < 20_000);
    });
  }
  await t.test('deep nesting', () => {
    const deep = [`${'!'.repeat(20_000)}true`, `${'('.repeat(5000)}1`, Array(5000).fill('1').join('+')];
    for (const source of deep) assert.throws(() => compileExpression(source, {}), CelCompileError);
  });
  await t.test('a budget is shared', () => {
    const budget = new Budget(100);
    const expression = compileExpression('[1, 2, 3].all(x, x > 0)', {});
    assert.equal(expression.evaluate({}, budget), true);
    assert.throws(() => {
      for (let round = 0; round < 100; round++) expression.evaluate({}, budget);
    }, BudgetExceeded);
  });
});

test('CEL: names that JavaScript gives every object are no fields', () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
    assert.throws(() => evaluate(`self.${name}`), errorLike(CelError, /no such key/));
    assert.equal(evaluate(`has(self.${name})`), false);
  }
});

function errorLike(type: new (...args: never[]) => Error, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof type, `not ${type.name}: ${String(error)}`);
    assert.match((error as Error).message, message);
    return true;
  };
}
