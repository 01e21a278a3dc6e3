import assert from 'node:assert/strict';
import {
  type Answer,
  assertFailure,
  type ContractCase,
  configMap,
  configMaps,
  created,
  type Environment,
  eventually,
  type Loose,
} from './environment.ts';

/** One row of docs/embedded-api.md: what is asked, what a real API server answers, and what the embedded one does. */
interface Difference<T = Answer> {
  readonly name: string;
  readonly row: string;
  ask(env: Environment): Promise<T>;
  real(answer: T, env: Environment): void;
  embedded(answer: T, env: Environment): void;
}

const notServed = ({ status }: Answer) => assert.equal(status, 404);
const accepted = ({ status, body }: Answer) => assert.equal(status, 201, JSON.stringify(body));
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const admission = '/apis/admissionregistration.k8s.io/v1';
const inNamespace = (env: Environment, group: string, plural: string) =>
  `${group}/namespaces/${env.namespace}/${plural}`;

/** A definition of a kind with this schema of spec, not stored. */
async function tryDefinition(env: Environment, spec: object, more: object = {}): Promise<Answer> {
  const group = `${env.unique('d')}.example.com`;
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return await env.request('POST', definitions, {
    query: { dryRun: 'All' },
    body: {
      metadata: { name: `odds.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Odd', plural: 'odds' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
        ...more,
      },
    },
  });
}

const withRule = (rule: string, properties: object = { f: { type: 'number' } }) => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': [{ rule, message: 'no' }],
});

const differences: readonly Difference[] = [
  {
    name: 'server-side apply',
    row: 'Server-side apply is answered 415, and no `managedFields` are kept: use `kubectl apply` without `--server-side`.',
    ask: (env) =>
      env.request('PATCH', `${configMaps(env)}/ssa`, {
        body: configMap(env, 'ssa', { a: 'b' }),
        query: { fieldManager: 'contract' },
        headers: { 'content-type': 'application/apply-patch+yaml' },
      }),
    real(answer) {
      accepted(answer);
      assert.equal(answer.body.metadata.managedFields[0].manager, 'contract');
    },
    embedded: (answer) =>
      assertFailure(answer, 415, 'UnsupportedMediaType', /kubectl apply without --server-side/),
  },
  {
    name: 'a large body in YAML',
    row: 'Bodies in YAML are read up to 32 KiB; JSON, which clients send, up to 3 MiB.',
    ask: (env) =>
      env.request('POST', configMaps(env), {
        body: `metadata:\n  name: large\ndata:\n  a: ${'x'.repeat(40_000)}\n`,
        headers: { 'content-type': 'application/yaml' },
      }),
    real: accepted,
    embedded: (answer) => assertFailure(answer, 413, 'RequestEntityTooLarge', /send it as JSON/),
  },
  {
    name: 'OpenAPI v2',
    row: '`/openapi/v2` describes nothing: schemas are served as OpenAPI v3.',
    ask: (env) => env.request('GET', '/openapi/v2'),
    real: ({ body }) => assert.ok('/api/v1/pods' in body.paths),
    embedded: ({ status, body }) => assert.deepEqual([status, body.swagger, body.paths], [200, '2.0', {}]),
  },
  {
    name: 'an operation of a JSON patch that fails',
    row: 'Which operation of a JSON patch failed, and why, is told; a real API server says no more than that one did.',
    async ask(env) {
      await created(env, configMaps(env), configMap(env, 'failing', { a: 'b' }));
      return await env.request('PATCH', `${configMaps(env)}/failing`, {
        body: [{ op: 'remove', path: '/data/none' }],
        headers: { 'content-type': 'application/json-patch+json' },
      });
    },
    real(answer) {
      assertFailure(answer, 422, 'Invalid');
      assert.equal(answer.body.message, 'the server rejected our request due to an error in our request');
    },
    embedded: (answer) =>
      assertFailure(
        answer,
        422,
        'Invalid',
        /^the server rejected our request due to an error in our request: remove \/data\/none: /,
      ),
  },
  {
    name: 'exec into a Pod',
    row: 'Logs are served; exec, attach, port-forward and the proxies to Pods, Services and Nodes are not.',
    async ask(env) {
      const pods = inNamespace(env, '/api/v1', 'pods');
      await created(env, pods, {
        metadata: { name: 'p' },
        spec: {
          automountServiceAccountToken: false,
          nodeSelector: { none: 'x' },
          containers: [{ name: 'c', image: 'example.com/i:1' }],
        },
      });
      return await env.request('POST', `${pods}/p/exec`, { query: { command: 'true' } });
    },
    real: (answer) => assertFailure(answer, 400, 'BadRequest', /does not have a host assigned/),
    embedded: notServed,
  },
  {
    name: 'the proxy to a Service',
    row: 'Logs are served; exec, attach, port-forward and the proxies to Pods, Services and Nodes are not.',
    ask: (env) => env.request('GET', inNamespace(env, '/api/v1', 'services/none/proxy')),
    real: (answer) => assertFailure(answer, 404, 'NotFound', /services "none" not found/),
    embedded: (answer) => assertFailure(answer, 404, 'NotFound', /could not find the requested resource/),
  },
  {
    name: 'a webhook that does not answer',
    row: 'Webhook configurations are stored, and nobody calls them.',
    async ask(env) {
      const name = env.unique('hook');
      const path = `${admission}/validatingwebhookconfigurations`;
      await created(env, path, {
        metadata: { name },
        webhooks: [
          {
            name: 'nobody.example.com',
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            timeoutSeconds: 1,
            clientConfig: { url: 'https://127.0.0.1:1/' },
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': env.namespace } },
            rules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
            ],
          },
        ],
      });
      const create = () => env.request('POST', configMaps(env), { body: configMap(env, env.unique('c')) });
      try {
        // A real API server hears of the webhook a moment later.
        if (env.engine === 'real') await eventually(async () => (await create()).status !== 201);
        return await create();
      } finally {
        await env.request('DELETE', `${path}/${name}`);
      }
    },
    real: (answer) => assertFailure(answer, 500, 'InternalError', /failed calling webhook/),
    embedded: accepted,
  },
  {
    name: 'the address of a Service',
    row: 'Services get no address.',
    ask: (env) =>
      env.request('POST', inNamespace(env, '/api/v1', 'services'), {
        body: { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } },
      }),
    real(answer) {
      accepted(answer);
      assert.match(answer.body.spec.clusterIP, /^\d+\./);
    },
    embedded(answer) {
      accepted(answer);
      assert.equal(answer.body.spec.clusterIP, undefined);
    },
  },
  ...['/apis/apps/v1 replicasets', '/api/v1 endpoints'].map((path): Difference => {
    const [group = '', plural = ''] = path.split(' ');
    return {
      name: `the kind of ${plural}`,
      row: 'ReplicaSets and Endpoints do not exist: a Deployment makes its Pods directly.',
      ask: (env) => env.request('GET', inNamespace(env, group, plural)),
      real: ({ status }) => assert.equal(status, 200),
      embedded: notServed,
    };
  }),
  {
    name: 'the taint of a new Node',
    row: 'A new Node gets no taint `node.kubernetes.io/not-ready`; the scheduler looks at its Ready condition instead.',
    async ask(env) {
      const name = env.unique('node');
      const answer = await env.request('POST', '/api/v1/nodes', { body: { metadata: { name } } });
      await env.request('DELETE', `/api/v1/nodes/${name}`);
      return answer;
    },
    real: ({ body }) => assert.equal(body.spec.taints[0].key, 'node.kubernetes.io/not-ready'),
    embedded: ({ body }) => assert.equal(body.spec?.taints, undefined),
  },
  {
    name: 'an update of a Lease that does not exist',
    row: 'An update never creates; a real API server lets an update create a Lease, an Event and RBAC objects.',
    ask: (env) =>
      env.request('PUT', inNamespace(env, '/apis/coordination.k8s.io/v1', 'leases/l'), {
        body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: {} },
      }),
    real: accepted,
    embedded: (answer) => assertFailure(answer, 404, 'NotFound'),
  },
  {
    name: 'a request without credentials',
    row: 'Without credentials a request is Unauthorized (401), not Forbidden (403) as `system:anonymous`.',
    ask: (env) => env.anonymous('GET', '/api/v1/nodes'),
    real: (answer) => assertFailure(answer, 403, 'Forbidden', /system:anonymous/),
    embedded: (answer) => assertFailure(answer, 401, 'Unauthorized'),
  },
  {
    name: 'the kind of the objects in a list',
    row: 'The objects of a list carry `apiVersion` and `kind` also where they are built-in.',
    async ask(env) {
      await created(env, configMaps(env), configMap(env, 'c'));
      return await env.request('GET', configMaps(env));
    },
    real: ({ body }) => assert.equal(body.items.at(-1).kind, undefined),
    embedded: ({ body }) => assert.equal(body.items.at(-1).kind, 'ConfigMap'),
  },
  {
    name: 'the old path of a watch',
    row: 'The paths below `/api/v1/watch/`, long deprecated, are not served: watch with `?watch=true`.',
    ask: (env) =>
      env.request('GET', `/api/v1/watch/namespaces/${env.namespace}/secrets`, {
        query: { timeoutSeconds: 1 },
      }),
    real: ({ status }) => assert.equal(status, 200),
    embedded: notServed,
  },
  {
    name: 'a create with a resourceVersion',
    row: 'A create that carries a `resourceVersion` is a BadRequest (400); a real API server answers 500.',
    ask(env) {
      const body = configMap(env, 'c');
      body.metadata.resourceVersion = '1';
      return env.request('POST', configMaps(env), { body });
    },
    real: ({ status }) => assert.equal(status, 500),
    embedded: (answer) => assertFailure(answer, 400, 'BadRequest', /resourceVersion should not be set/),
  },
  {
    name: 'a rule whose cost has no bound',
    row: 'The cost of CEL expressions is not estimated when a definition or a policy is made: a real API server may refuse one that is accepted here, because a string or list in it has no `maxLength` or `maxItems`. The work is bounded while an expression runs instead (`src/apiserver/cel/budget.ts`).',
    ask: (env) =>
      tryDefinition(
        env,
        withRule('self.list.all(x, self.list.exists(y, x == y))', {
          list: { type: 'array', items: { type: 'string' } },
        }),
      ),
    real: (answer) => assertFailure(answer, 422, 'Invalid', /cost exceeds budget/),
    embedded: accepted,
  },
  ...["{?'a': optional.of(1)}.size() == 1", '[?optional.of(1)].size() == 1', 'self.f > .5'].map(
    (rule): Difference => ({
      name: `the expression ${rule}`,
      row: "CEL's optional entries in literals (`[?x]`, `{?k: v}`) and numbers without a leading digit (`.5`) are syntax errors.",
      ask: (env) => tryDefinition(env, withRule(rule)),
      real: accepted,
      embedded: (answer) => assertFailure(answer, 422, 'Invalid', /Syntax error/),
    }),
  ),
  {
    name: 'an expression with two errors',
    row: 'Of several errors in one CEL expression only the first is told, syntax errors in words of their own.',
    ask: (env) => tryDefinition(env, withRule('one == two')),
    real: (answer) => assertFailure(answer, 422, 'Invalid', /reference to 'one'.*reference to 'two'/s),
    embedded(answer) {
      assertFailure(answer, 422, 'Invalid', /reference to 'one'/);
      assert.doesNotMatch(answer.body.message, /reference to 'two'/);
    },
  },
  ...[{ data: { a: 1 } }, { metadata: { name: 'c', labels: { a: 1 } } }].map(
    (wrong): Difference => ({
      name: `a number for a text in ${Object.keys(wrong)[0]}`,
      row: "A value of the wrong JSON type is refused in other words than Go's decoder has.",
      ask: (env) => env.request('POST', configMaps(env), { body: { ...configMap(env, 'c'), ...wrong } }),
      real: (answer) => assertFailure(answer, 400, 'BadRequest', /cannot unmarshal number/),
      embedded: (answer) => assertFailure(answer, 400, 'BadRequest', /must be of type string: "integer"/),
    }),
  ),
  {
    name: 'a definition with a conversion webhook',
    row: 'CustomResourceDefinitions with a conversion webhook are refused.',
    ask: (env) =>
      tryDefinition(
        env,
        { type: 'object' },
        {
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1/' } },
          },
        },
      ),
    real: accepted,
    embedded: (answer) => assertFailure(answer, 422, 'Invalid', /conversion/),
  },
  {
    name: 'the version in which a policy sees an object',
    row: "An admission policy sees an object of a custom kind in the version that it was written in; a real API server converts it to the version that the policy's rule names.",
    ask: writeThroughOtherVersion,
    real: accepted,
    embedded: (answer) => assertFailure(answer, 422, 'Invalid', /not v1/),
  },
];

async function writeThroughOtherVersion(env: Environment): Promise<Answer> {
  const group = `${env.unique('v')}.example.com`;
  const policy = env.unique('version');
  const open = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await created(env, definitions, {
    metadata: { name: `odds.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Odd', plural: 'odds' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: open },
        { name: 'v1beta1', served: true, storage: false, schema: open },
      ],
    },
  });
  const odds = (version: string) => inNamespace(env, `/apis/${group}/${version}`, 'odds');
  await eventually(async () => (await env.request('GET', odds('v1beta1'))).status === 200);
  await created(env, `${admission}/validatingadmissionpolicies`, {
    metadata: { name: policy },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE'], resources: ['odds'] },
        ],
      },
      validations: [
        { expression: `object.apiVersion == '${group}/v1'`, message: 'not v1' },
        { expression: "object.metadata.name != 'probe'", message: 'active' },
      ],
    },
  });
  await created(env, `${admission}/validatingadmissionpolicybindings`, {
    metadata: { name: policy },
    spec: { policyName: policy, validationActions: ['Deny'] },
  });
  const create = (version: string, name: string): Promise<Answer> => {
    const body: Loose = { apiVersion: `${group}/${version}`, kind: 'Odd', metadata: { name } };
    return env.request('POST', odds(version), { body });
  };
  try {
    await eventually(async () => {
      const probe = await create('v1', 'probe');
      if (probe.status === 201) await env.request('DELETE', `${odds('v1')}/probe`);
      return probe.status === 422;
    });
    return await create('v1beta1', 'o');
  } finally {
    await env.request('DELETE', `${admission}/validatingadmissionpolicybindings/${policy}`);
    await env.request('DELETE', `${admission}/validatingadmissionpolicies/${policy}`);
    await env.request('DELETE', `${definitions}/odds.${group}`);
  }
}

export const differenceCases: readonly ContractCase[] = differences.map(
  ({ name, row, ask, real, embedded }) => ({
    name,
    run: async (env) => real(await ask(env), env),
    differs: { row, run: async (env) => embedded(await ask(env), env) },
  }),
);
