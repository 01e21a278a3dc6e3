import assert from 'node:assert/strict';
import { assertFailure, type ContractCase, type Environment } from './environment.ts';

/** What CEL means: each expression holds, or fails in these words, in rules of custom kinds. */

const text = { type: 'string', maxLength: 20 };
const spec = {
  type: 'object',
  properties: {
    a: { type: 'integer' },
    f: { type: 'number' },
    name: text,
    list: { type: 'array', maxItems: 5, items: { type: 'integer' } },
    names: { type: 'array', maxItems: 5, items: text },
    set: { type: 'array', maxItems: 5, items: text, 'x-kubernetes-list-type': 'set' },
    map: { type: 'object', maxProperties: 5, additionalProperties: { type: 'integer' } },
    nothing: { ...text, nullable: true },
    nested: { type: 'object', properties: { deep: { type: 'object', properties: { value: text } } } },
    either: { 'x-kubernetes-int-or-string': true },
    'a-b': text,
    since: { type: 'string', format: 'date-time' },
    took: { type: 'string', format: 'duration' },
    raw: { type: 'string', format: 'byte', maxLength: 20 },
  },
};

const value = {
  a: 3,
  f: 1.5,
  name: 'abc',
  list: [1, 2, 3],
  names: ['a', 'b'],
  set: ['a', 'b'],
  map: { x: 1, y: 2 },
  nothing: null,
  nested: { deep: { value: 'v' } },
  either: 'x',
  'a-b': 'dash',
  since: '2020-01-02T03:04:05Z',
  took: '90s',
  raw: 'aGVsbG8=',
};

const holding: readonly string[] = [
  'self.a + 1 == 4 && self.a / 2 == 1 && self.a % 2 == 1 && self.f + 0.5 == 2.0',
  '1 < 1.5 && 2u > 1 && 5 / -2 == -2 && -5 % 2 == -1',
  "{'a': 1, 'b': 2} == {'b': 2, 'a': 1} && !([1, 2] == [2, 1])",
  "self.set == ['b', 'a'] && self.set + ['c', 'a'] == ['a', 'b', 'c']",
  "has(self.name) && !has(self.nothing) && has(self.map.x) && !has(self.map.z) && 'x' in self.map",
  'self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.exists_one(x, x == 2)',
  'self.list.map(x, x > 1, x * 2) == [4, 6] && self.list.filter(x, x > 1) == [2, 3]',
  'self.list.all(i, v, v == i + 1) && self.list.transformList(i, v, i > 0, v) == [2, 3]',
  'self.map.exists(k, v, k == "y" && v == 2) && self.map.transformMap(k, v, v > 1, v) == {"y": 2}',
  'true || self.a / 0 == 1',
  'self.a / 0 == 1 || true',
  '!(self.a / 0 == 1 && false)',
  '[0, 1].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)',
  "self.?nested.?deep.?value.orValue('') == 'v' && self.map[?'z'].orValue(7) == 7 && !self.?nothing.hasValue()",
  "optional.of(2).optMap(x, x * 2).value() == 4 && !optional.ofNonZeroValue('').hasValue()",
  "self.a__dash__b == 'dash'",
  "size('héllo😀') == 6 && 'tacocat'.indexOf('ac', 3) == -1 && 'tacocat'.lastIndexOf('a') == 5",
  "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'hello'.replace('l', 'L', 1) == 'heLlo'",
  "'%d is %s, %.2f %x %%'.format([3, 'x', 1.5, 255]) == '3 is x, 1.50 ff %'",
  "string(1e6) == '1e+06' && string(0.1) == '0.1' && string(duration('1h30m')) == '5400s'",
  "'abc123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'A'.matches('(?i)^a$')",
  "'a\\nb'.matches('(?m)^b$') && !'a\\nb'.matches('^b$') && 'x'.matches('^\\\\p{Ll}$')",
  "self.since.getFullYear() == 2020 && self.since.getHours('-05:00') == 22 && self.took == duration('1m30s')",
  "self.raw == b'hello' && b'\\xff' == b'\\377'",
  "isURL('https://a.b/c?d=e') && !isURL('../x') && url('https://a.b:80/c d').getEscapedPath() == '/c%20d'",
  "isIP('::1') && !isIP('::ffff:1.2.3.4') && ip('10.0.0.1').isGlobalUnicast() && ip.isCanonical('::1')",
  "cidr('192.168.0.0/24').containsIP('192.168.0.7') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
  "quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('50k').add(quantity('20k')) == quantity('70k')",
  "!isQuantity('1K') && !quantity('1000m').isInteger() && sign(quantity('-1')) == -1",
  "format.dns1123Label().validate('My.Name').hasValue() && !format.dns1123Subdomain().validate('a.b').hasValue()",
  "isSemver('1.2.3') && !isSemver('v1.2.3') && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
  'sets.contains([1, 2, 3], [3, 1]) && [3, 1, 2].max() == 3 && [1.0, 2.0].sum() == 3.0',
];

/** What fails while it is evaluated. */
const failing: readonly (readonly [expression: string, words: string])[] = [
  ['self.map.absent == 1', 'no such key: absent'],
  ['self.list[7] == 1', 'index out of bounds: 7'],
  ['self.a / (self.a - 3) == 1', 'division by zero'],
  ['self.a % (self.a - 3) == 1', 'modulus by zero'],
  ['9223372036854775807 + self.a == 1', 'integer overflow'],
  ['int(self.name) == 1', "type conversion error from 'string' to 'int'"],
  ["ip(self.name) == ip('1.2.3.4')", 'ParseAddr("abc"): unable to parse IP'],
  ["self.name.matches('(?' + '=a)')", 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
  ['self.name.substring(7) == ""', 'index out of range: 7'],
  ['self.either + 1 == 2', 'call arguments did not match a supported operator, function or macro signature'],
];

/** What is refused with the definition; dots stand for the place. */
const refused: readonly (readonly [expression: string, words: string])[] = [
  ['self.absent == 1', ":1:5: undefined field 'absent'\n | self.absent == 1\n | ....^"],
  ['self.name == 1', ":1:11: found no matching overload for '_==_' applied to '(string, int)'"],
  ['self.name == null', ":1:11: found no matching overload for '_==_' applied to '(string, null)'"],
  ['self.name.nope()', ":1:15: undeclared reference to 'nope' (in container '')"],
  ['self.name.startsWith(1)', ":1:21: found no matching overload for 'startsWith' applied to 'string.(int)'"],
  ['self.names.all(x, x)', ":1:19: expected type 'bool' but found 'string'"],
  ['self.name && true', ":1:5: expected type 'bool' but found 'string'"],
  ["true ? 1 : 'a'", ":1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
  ["[1, 'a'] == [1]", ":1:5: expected type 'int' but found 'string'"],
  ['self.names.sum() == 1', ":1:15: found no matching overload for 'sum' applied to 'list(string).()'"],
  ["self.name.matches('(')", ':1:19: invalid matches argument'],
  ['has(self)', ':1:5: invalid argument to has() macro'],
  ['self.names.all(1, true)', ':1:16: argument must be a simple name'],
  ["cel.bind(x, 'a', x == self.name)", ":1:1: undeclared reference to 'cel' (in container '')"],
  ['as', ':1:1: reserved identifier: as'],
  ['self.name', 'cel expression must evaluate to a bool'],
  ['', 'rule is not specified'],
];

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function definition(group: string, rules: readonly string[]): unknown {
  const schema = {
    type: 'object',
    properties: {
      spec: {
        ...spec,
        'x-kubernetes-validations': rules.map((rule, at) => ({ rule, message: `rule ${at}` })),
      },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `trials.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Trial', plural: 'trials' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

/** What these rules say of the value: the messages of those that do not hold. */
async function judged(env: Environment, rules: readonly string[]): Promise<string[]> {
  const group = `${env.unique('t')}.example.com`;
  const answer = await env.request('POST', path, { body: definition(group, rules) });
  assert.equal(answer.status, 201, JSON.stringify(answer.body.message));
  const objects = `/apis/${group}/v1/namespaces/${env.namespace}/trials`;
  const body = { apiVersion: `${group}/v1`, kind: 'Trial', metadata: { name: 't' }, spec: value };
  for (let tries = 0; tries < 100; tries += 1) {
    const tried = await env.request('POST', objects, { body, query: { dryRun: 'All' } });
    if (tried.status !== 404) {
      await env.request('DELETE', `${path}/trials.${group}`);
      if (tried.status === 201) return [];
      assertFailure(tried, 422, 'Invalid');
      return tried.body.details.causes.map((cause: { message: string }) => cause.message);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the kind was never served');
}

export const expressionCases: readonly ContractCase[] = [
  {
    name: 'expressions that hold',
    async run(env) {
      assert.deepEqual(await judged(env, holding), []);
    },
  },
  {
    name: 'expressions that fail while they are evaluated',
    async run(env) {
      const found = await judged(
        env,
        failing.map(([rule]) => rule),
      );
      assert.equal(found.length, failing.length, JSON.stringify(found));
      for (const [at, [rule, words]] of failing.entries()) {
        assert.ok(found[at]?.includes(words), `${rule}: ${words} in ${found[at]}`);
      }
    },
  },
  {
    name: 'expressions that are refused with their definition',
    async run(env) {
      for (const [rule, words] of refused) {
        const body = definition(`${env.unique('t')}.example.com`, [rule]);
        const answer = await env.request('POST', path, { body, query: { dryRun: 'All' } });
        assertFailure(answer, 422, 'Invalid');
        assert.ok(answer.body.message.includes(words), `${rule}: ${words} in ${answer.body.message}`);
      }
    },
  },
];
