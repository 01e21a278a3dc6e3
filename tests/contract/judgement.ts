import assert from 'node:assert/strict';
import { assertFailure, type ContractCase, created, type Environment, type Loose } from './environment.ts';

/** How objects and requests are judged, in which words: built-in kinds, values of custom kinds, admission policies. */

const container = (more: object = {}): Loose => ({ name: 'c', image: 'example.com/i:1', ...more });

const pod = (more: object): Loose => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { automountServiceAccountToken: false, containers: [container()], ...more },
});

const podWith = (more: object): Loose => pod({ containers: [container(more)] });

const deployment = (more: object): Loose => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [container()] } },
    ...more,
  },
});

const job = (more: object): Loose => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [container()] } }, ...more },
});

const configMap = (data: object, metadata: object = {}): Loose => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'm', ...metadata },
  data,
});

const pathOf: Readonly<Record<string, string>> = {
  Pod: 'api/v1/namespaces/NS/pods',
  ConfigMap: 'api/v1/namespaces/NS/configmaps',
  Deployment: 'apis/apps/v1/namespaces/NS/deployments',
  Job: 'apis/batch/v1/namespaces/NS/jobs',
};

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** The whole message of each refusal. */
const refusals: readonly (readonly [object: Loose, message: string])[] = [
  [pod({ containers: [] }), 'Pod "p" is invalid: spec.containers: Required value'],
  [pod({ containers: [{ name: 'c' }] }), 'Pod "p" is invalid: spec.containers[0].image: Required value'],
  [
    pod({ containers: [container(), container()] }),
    'Pod "p" is invalid: spec.containers[1].name: Duplicate value: "c"',
  ],
  [
    pod({ restartPolicy: 'Often' }),
    'Pod "p" is invalid: spec.restartPolicy: Unsupported value: "Often": supported values: "Always", "OnFailure", "Never"',
  ],
  [
    podWith({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    'Pod "p" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "v"',
  ],
  [
    podWith({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    'Pod "p" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ],
  [
    job({ template: { spec: { containers: [container()] } } }),
    'Job.batch "j" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ],
  [
    deployment({ replicas: -1 }),
    'Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    deployment({ selector: { matchLabels: { app: 'b' } } }),
    'Deployment.apps "d" is invalid: spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
  ],
  [configMap({}, { name: 'A' }), `ConfigMap "A" is invalid: metadata.name: Invalid value: "A": ${subdomain}`],
  [
    configMap({ 'a b': 'x' }),
    "ConfigMap \"m\" is invalid: data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
  ],
];

/** What is filled in. */
const completions: readonly (readonly [object: Loose, spec: object])[] = [
  [
    pod({}),
    {
      automountServiceAccountToken: false,
      containers: [
        container({
          imagePullPolicy: 'IfNotPresent',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        }),
      ],
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
      priority: 0,
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      serviceAccount: 'default',
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: 30,
      tolerations: ['not-ready', 'unreachable'].map((taint) => ({
        effect: 'NoExecute',
        key: `node.kubernetes.io/${taint}`,
        operator: 'Exists',
        tolerationSeconds: 300,
      })),
    },
  ],
];

/** A policy on the ConfigMaps of the namespace of a case, and what it says of one. */
interface PolicyCase {
  readonly name: string;
  readonly spec: object;
  readonly binding?: object;
  /** The message behind `denied request: `; undefined where the request passes. */
  readonly denied?: string;
  readonly reason?: string;
  readonly warning?: string;
}

const validation = (expression: string, more: object = {}): object => ({
  validations: [{ expression, ...more }],
});
const never = 'object.data.a == "x"';
const params = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, ...validation('params.data.a == "x"') };

const policies: readonly PolicyCase[] = [
  { name: 'an expression without message', spec: validation(never), denied: `failed expression: ${never}` },
  { name: 'a message', spec: validation(never, { message: 'no' }), denied: 'no' },
  {
    name: 'a message that is computed',
    spec: validation(never, { messageExpression: "'a is ' + object.data.a", message: 'no' }),
    denied: 'a is 1',
  },
  {
    name: 'a reason',
    spec: validation(never, { reason: 'Forbidden' }),
    denied: `failed expression: ${never}`,
    reason: 'Forbidden',
  },
  {
    name: 'an error',
    spec: validation('object.data.z == "x"'),
    denied: 'expression \'object.data.z == "x"\' resulted in error: no such key: z',
  },
  {
    name: 'variables',
    spec: {
      variables: [{ name: 'v', expression: "object.data.a + '!'" }],
      ...validation('variables.v == ""', { messageExpression: 'variables.v' }),
    },
    denied: '1!',
  },
  {
    name: 'what is known of the request',
    spec: validation('false', {
      messageExpression: "request.operation + ' ' + request.resource.resource + ' ' + request.name",
    }),
    denied: 'CREATE configmaps probe',
  },
  {
    name: 'params that are not there',
    spec: params,
    binding: { paramRef: { name: 'absent', namespace: 'default', parameterNotFoundAction: 'Deny' } },
    denied:
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
  },
  {
    name: 'a warning',
    spec: validation('false', { message: 'careful' }),
    binding: { validationActions: ['Warn'] },
    warning: 'careful',
  },
];

const admission = '/apis/admissionregistration.k8s.io/v1';

/** Binds a policy and asks, until it acts: the real server takes a moment to notice. */
async function policyCase(
  env: Environment,
  { spec, binding, denied, reason, warning }: PolicyCase,
): Promise<void> {
  const name = env.unique('policy');
  const matchConstraints = {
    resourceRules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
    ],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': env.namespace } },
  };
  const meta = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name } };
  const policyKind = { ...meta, kind: 'ValidatingAdmissionPolicy' };
  const bindingKind = { ...meta, kind: 'ValidatingAdmissionPolicyBinding' };
  await created(env, `${admission}/validatingadmissionpolicies`, {
    ...policyKind,
    spec: { matchConstraints, ...spec },
  });
  await created(env, `${admission}/validatingadmissionpolicybindings`, {
    ...bindingKind,
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  });
  try {
    const path = `/api/v1/namespaces/${env.namespace}/configmaps`;
    const body = configMap({ a: '1' }, { name: 'probe' });
    for (let tries = 0; ; tries += 1) {
      const answer = await env.request('POST', path, { body, query: { dryRun: 'All' } });
      const told = String(answer.headers.warning ?? '');
      if (tries < 100 && answer.status === 201 && told === '') {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      const by = `ValidatingAdmissionPolicy '${name}' with binding '${name}'`;
      if (warning !== undefined) {
        assert.ok(told.includes(`Validation failed for ${by}: ${warning}`), told);
        return;
      }
      assertFailure(answer, reason === 'Forbidden' ? 403 : 422, reason ?? 'Invalid');
      const message = `${by} denied request: ${denied}`;
      assert.equal(answer.body.message, `configmaps "probe" is forbidden: ${message}`);
      assert.deepEqual(answer.body.details.causes, [{ message }]);
      return;
    }
  } finally {
    await env.request('DELETE', `${admission}/validatingadmissionpolicybindings/${name}`);
    await env.request('DELETE', `${admission}/validatingadmissionpolicies/${name}`);
  }
}

async function tried(env: Environment, object: Loose): Promise<Loose> {
  const path = `/${pathOf[object.kind]}`.replace('NS', env.namespace);
  return await env.request('POST', path, {
    body: object,
    query: { dryRun: 'All', fieldValidation: 'Strict' },
  });
}

export const judgementCases: readonly ContractCase[] = [
  {
    name: 'built-in kinds are refused in the same words',
    async run(env) {
      for (const [object, message] of refusals) {
        const answer = await tried(env, object);
        assertFailure(answer, 422, 'Invalid');
        assert.equal(answer.body.message, message);
      }
    },
  },
  {
    name: 'built-in kinds are completed alike',
    async run(env) {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
      await env.request('POST', `/api/v1/namespaces/${env.namespace}/serviceaccounts`, { body: account });
      for (const [object, spec] of completions) {
        const answer = await tried(env, object);
        assert.equal(answer.status, 201, JSON.stringify(answer.body));
        assert.deepEqual(answer.body.spec, spec);
      }
    },
  },
  ...policies.map(
    (one): ContractCase => ({ name: `a policy judges: ${one.name}`, run: (env) => policyCase(env, one) }),
  ),
];
