import assert from 'node:assert/strict';
import {
  assertFailure,
  type ContractCase,
  configMap,
  configMaps,
  created,
  type Environment,
  type Loose,
} from './environment.ts';

const namesOf = (list: Loose): string[] => list.items.map((item: Loose) => item.metadata.name);

async function several(env: Environment): Promise<void> {
  for (const [name, color] of [
    ['a', 'red'],
    ['b', 'blue'],
    ['c', 'red'],
    ['d', undefined],
  ] as const) {
    const object = configMap(env, name);
    object.metadata.labels = { case: 'list', ...(color === undefined ? {} : { color }) };
    await created(env, configMaps(env), object);
  }
}

async function selected(env: Environment, labelSelector: string): Promise<string[]> {
  const answer = await env.request('GET', configMaps(env), { query: { labelSelector } });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return namesOf(answer.body);
}

export const listCases: readonly ContractCase[] = [
  {
    name: 'a list has a kind, a version and objects in the order of names',
    async run(env) {
      await several(env);
      const { body } = await env.request('GET', configMaps(env), { query: { labelSelector: 'case=list' } });
      assert.equal(body.kind, 'ConfigMapList');
      assert.equal(body.apiVersion, 'v1');
      assert.match(body.metadata.resourceVersion, /^\d+$/);
      assert.deepEqual(namesOf(body), ['a', 'b', 'c', 'd']);
    },
  },
  {
    name: 'label selectors: equality, sets, presence, absence',
    async run(env) {
      await several(env);
      assert.deepEqual(await selected(env, 'case=list,color=red'), ['a', 'c']);
      assert.deepEqual(await selected(env, 'case=list,color==blue'), ['b']);
      assert.deepEqual(await selected(env, 'case=list,color!=red'), ['b', 'd']);
      assert.deepEqual(await selected(env, 'case=list,color in (red,blue)'), ['a', 'b', 'c']);
      assert.deepEqual(await selected(env, 'case=list,color notin (red)'), ['b', 'd']);
      assert.deepEqual(await selected(env, 'case=list,color'), ['a', 'b', 'c']);
      assert.deepEqual(await selected(env, 'case=list,!color'), ['d']);
    },
  },
  {
    name: 'label selectors: more and less, and empty values',
    async run(env) {
      for (const [name, size] of [
        ['none', undefined],
        ['empty', ''],
        ['two', '2'],
        ['ten', '10'],
        ['word', 'x'],
      ] as const) {
        const labels = { case: 'sizes', ...(size === undefined ? {} : { size }) };
        await created(env, configMaps(env), { metadata: { name, labels } });
      }
      assert.deepEqual(await selected(env, 'case=sizes,size>2'), ['ten']);
      assert.deepEqual(await selected(env, 'size<10 , case = sizes'), ['two']);
      assert.deepEqual(await selected(env, 'case=sizes,size='), ['empty']);
      assert.deepEqual(await selected(env, 'case=sizes,size in (,x)'), ['empty', 'word']);
      assert.deepEqual(await selected(env, 'case=sizes,size in (2,)'), ['empty', 'two']);
      assert.deepEqual(await selected(env, 'case=sizes,size in ()'), ['empty']);
      assert.deepEqual(await selected(env, 'case=sizes,size notin (2,x,10)'), ['empty', 'none']);
    },
  },
  {
    name: 'a label selector that cannot be read is refused, in words that say where',
    async run(env) {
      const grammar = 'regex used for validation is';
      for (const [text, message] of [
        ['a===b', "unable to parse requirement: found '=', expected: identifier"],
        ['a in b', "unable to parse requirement: found 'b' expected: '('"],
        ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
        ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
        ['a foo (b)', "unable to parse requirement: found 'foo', expected: in, notin, =, ==, !=, gt, lt"],
        ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
        [',a', "found ',', expected: !, identifier, or 'end of string'"],
        ['a,', "found '', expected: identifier after ','"],
        ['a,,b', "found ',', expected: identifier after ','"],
        ['a=b=c', "found '=', expected: ',' or 'end of string'"],
        ['!a=b', "found '=', expected: ',' or 'end of string'"],
        ['!', "unable to parse requirement: found '', expected: identifier"],
        ['-a=b', `unable to parse requirement: <nil>: Invalid value: "-a": name part must consist`],
        ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be`],
        ['a>x', `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators`],
      ] as const) {
        const answer = await env.request('GET', configMaps(env), { query: { labelSelector: text } });
        assertFailure(answer, 400, 'BadRequest');
        const said: string = answer.body.message;
        assert.ok(
          said === message || (said.startsWith(message) && /regex|operators/.test(said)),
          `${text}: ${said}`,
        );
        assert.ok(!said.includes('must consist') || said.includes(grammar), said);
      }
    },
  },
  {
    name: 'options of a list and a watch that do not go together are invalid',
    async run(env) {
      const path = configMaps(env);
      for (const [query, messages] of [
        [
          { resourceVersionMatch: 'Exact' },
          ['Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided'],
        ],
        [
          { resourceVersionMatch: 'Bogus', resourceVersion: '1' },
          ['Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""'],
        ],
        [
          { resourceVersionMatch: 'Exact', resourceVersion: '0' },
          ['Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
        ],
        [{ sendInitialEvents: true }, ['Forbidden: sendInitialEvents is forbidden for list']],
        [
          { watch: true, sendInitialEvents: true },
          ['Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
        ],
        [
          { watch: true, resourceVersionMatch: 'Exact', resourceVersion: '1' },
          [
            'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
            'Unsupported value: "Exact": supported values: "NotOlderThan"',
          ],
        ],
      ] as const) {
        const answer = await env.request('GET', path, { query });
        assertFailure(answer, 422, 'Invalid', /^ListOptions\.meta\.k8s\.io "" is invalid: /);
        assert.deepEqual(
          answer.body.details.causes.map(({ message }: Loose) => message),
          messages,
        );
      }
      for (const [query, message] of [
        [{ resourceVersion: 'abc' }, /^invalid resource version: resourceVersion: Invalid value: "abc"/],
        [{ continue: 'abc' }, /^invalid continue token: continue key is not valid/],
        [{ limit: 'abc' }, /parsing "abc": invalid syntax/],
        [{ fieldSelector: 'abc' }, /^invalid selector: 'abc'; can't understand 'abc'$/],
      ] as const) {
        assertFailure(await env.request('GET', path, { query }), 400, 'BadRequest', message);
      }
    },
  },
  {
    name: 'a label selector that cannot be read is refused',
    async run(env) {
      const answer = await env.request('GET', configMaps(env), { query: { labelSelector: 'a in (' } });
      assertFailure(answer, 400, 'BadRequest');
    },
  },
  {
    name: 'field selectors by name',
    async run(env) {
      await several(env);
      const { body } = await env.request('GET', configMaps(env), {
        query: { fieldSelector: 'metadata.name=b' },
      });
      assert.deepEqual(namesOf(body), ['b']);
    },
  },
  {
    name: 'field selectors across namespaces',
    async run(env) {
      await several(env);
      const { body } = await env.request('GET', '/api/v1/configmaps', {
        query: {
          fieldSelector: `metadata.namespace=${env.namespace},metadata.name!=b`,
          labelSelector: 'case=list',
        },
      });
      assert.deepEqual(namesOf(body), ['a', 'c', 'd']);
    },
  },
  {
    name: 'a field that cannot be selected by is refused',
    async run(env) {
      const answer = await env.request('GET', configMaps(env), { query: { fieldSelector: 'data.a=b' } });
      assertFailure(
        answer,
        400,
        'BadRequest',
        /^"data.a" is not a known field selector: only "metadata.name"/,
      );
      const pods = await env.request('GET', `/api/v1/namespaces/${env.namespace}/pods`, {
        query: { fieldSelector: 'spec.color=red' },
      });
      assertFailure(pods, 400, 'BadRequest', /field label not supported: spec.color/);
    },
  },
  {
    name: 'Pods can be selected by node and phase',
    async run(env) {
      const path = `/api/v1/namespaces/${env.namespace}/pods`;
      const spec = { containers: [{ name: 'c', image: 'example.com/x@sha256:00' }] };
      const node = env.unique('no-node');
      await created(env, path, { metadata: { name: 'here' }, spec: { ...spec, nodeName: node } });
      await created(env, path, {
        metadata: { name: 'nowhere' },
        spec: { ...spec, nodeSelector: { none: 'x' } },
      });
      const fieldSelector = `spec.nodeName=${node},status.phase=Pending`;
      const { body } = await env.request('GET', path, { query: { fieldSelector } });
      assert.deepEqual(namesOf(body), ['here']);
      await env.request('DELETE', `${path}/here`, { body: { gracePeriodSeconds: 0 } });
    },
  },
  {
    name: 'pages continue at the version of the first one',
    async run(env) {
      await several(env);
      const query = { limit: 2, labelSelector: 'case=list' };
      const first = await env.request('GET', configMaps(env), { query });
      assert.deepEqual(namesOf(first.body), ['a', 'b']);
      await env.request('DELETE', `${configMaps(env)}/c`);
      await created(env, configMaps(env), {
        ...configMap(env, 'e'),
        metadata: { name: 'e', labels: { case: 'list' } },
      });
      const rest: string[] = [];
      let next = first.body.metadata.continue;
      while (next) {
        const page = await env.request('GET', configMaps(env), { query: { ...query, continue: next } });
        assert.equal(page.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
        rest.push(...namesOf(page.body));
        next = page.body.metadata.continue;
      }
      assert.deepEqual(rest, ['c', 'd']);
    },
  },
  {
    name: 'a page without selectors says how many remain',
    async run(env) {
      await several(env);
      const { body } = await env.request('GET', configMaps(env), { query: { limit: 1 } });
      const all = await env.request('GET', configMaps(env));
      assert.equal(body.metadata.remainingItemCount, all.body.items.length - 1);
    },
  },
  {
    name: 'a continue token that is none is refused',
    async run(env) {
      const answer = await env.request('GET', configMaps(env), { query: { limit: 1, continue: 'rubbish' } });
      assertFailure(answer, 400, 'BadRequest');
    },
  },
  {
    name: 'a list at an exact version shows what stood then',
    async run(env) {
      await several(env);
      const before = await env.request('GET', configMaps(env), { query: { labelSelector: 'case=list' } });
      await env.request('DELETE', `${configMaps(env)}/a`);
      const { resourceVersion } = before.body.metadata;
      const then = await env.request('GET', configMaps(env), {
        query: { labelSelector: 'case=list', resourceVersion, resourceVersionMatch: 'Exact' },
      });
      assert.deepEqual(namesOf(then.body), ['a', 'b', 'c', 'd']);
    },
  },
  {
    name: 'a list not older than a version shows what stands now',
    async run(env) {
      await several(env);
      const before = await env.request('GET', configMaps(env));
      await env.request('DELETE', `${configMaps(env)}/a`);
      const { resourceVersion } = before.body.metadata;
      const now = await env.request('GET', configMaps(env), {
        query: { labelSelector: 'case=list', resourceVersion, resourceVersionMatch: 'NotOlderThan' },
      });
      assert.ok(namesOf(now.body).length >= 3);
      assert.ok(Number(now.body.metadata.resourceVersion) >= Number(resourceVersion));
    },
  },
  {
    name: 'metadata alone can be asked for',
    async run(env) {
      await several(env);
      const { body } = await env.request('GET', configMaps(env), {
        query: { labelSelector: 'case=list' },
        headers: { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
      });
      assert.equal(body.kind, 'PartialObjectMetadataList');
      assert.deepEqual(namesOf(body), ['a', 'b', 'c', 'd']);
      assert.equal(body.items[0].data, undefined);
    },
  },
  {
    name: 'a form that is not served is NotAcceptable',
    async run(env) {
      const answer = await env.request('GET', configMaps(env), { headers: { accept: 'text/html' } });
      assert.equal(answer.status, 406);
    },
  },
];
