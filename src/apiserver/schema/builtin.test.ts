import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { needs, sharedData } from '../../../tests/tier.ts';
import { builtInKinds } from '../scope/kinds.ts';
import { builtinSchema, defaultBuiltin, nameRuleOf, validateBuiltin } from './builtin.ts';
import { errorText } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue, valueAt } from './json.ts';
import { validateMetadata } from './metadata.ts';

function split(apiVersion: string): [group: string, version: string] {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return [group, version];
}

/** What is wrong with an object after it was decoded and completed; `object` itself is completed. */
function problemsOf(object: JsonObject, old?: JsonObject): string[] {
  const [group, version] = split(String(object.apiVersion));
  const kind = String(object.kind);
  const schema = builtinSchema(group, version, kind);
  assert.ok(schema !== undefined, `${object.apiVersion} ${kind} is known`);
  schema.prune(object);
  defaultBuiltin(group, kind, object);
  const errors = validateBuiltin(group, kind, object, schema.validate(object, old), old);
  return errors.map(errorText);
}

const container = (more: JsonObject = {}): JsonObject => ({ name: 'c', image: 'example.com/i:1', ...more });
const pod = (spec: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec,
});
const podWith = (more: JsonObject): JsonObject => pod({ containers: [container(more)] });
const job = (spec: JsonObject): JsonObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { spec: { restartPolicy: 'Never', containers: [container()] } },
    ...spec,
  },
});
const deployment = (spec: JsonObject): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [container()] } },
    ...spec,
  },
});

test('every kind of the scope has a schema', () => {
  for (const { group, version, kind } of builtInKinds) {
    const schema = builtinSchema(group, version, kind);
    assert.ok(schema !== undefined, `${group}/${version} ${kind}`);
    assert.deepEqual(schema.problems.map(errorText), [], kind);
  }
  assert.equal(builtinSchema('', 'v1', 'PersistentVolume'), undefined);
  for (const [group, kind] of [
    ['authentication.k8s.io', 'TokenRequest'],
    ['policy', 'Eviction'],
    ['autoscaling', 'Scale'],
  ] as const) {
    assert.ok(builtinSchema(group, 'v1', kind) !== undefined, kind);
  }
});

test('unknown fields, nulls and types', () => {
  const schema = builtinSchema('', 'v1', 'Pod');
  const given = pod({
    containers: [container({ nope: 1, env: null })],
    volumes: [{ name: 'v', emptyDir: {} }],
    hostUsers: null,
  });
  assert.deepEqual(schema?.unknownFields(given), ['spec.containers[0].nope']);
  assert.deepEqual(schema?.prune(given), ['spec.containers[0].nope']);
  assert.deepEqual(given.spec, { containers: [container()], volumes: [{ name: 'v', emptyDir: {} }] });
  assert.deepEqual(problemsOf(pod({ containers: [container()], terminationGracePeriodSeconds: 'soon' })), [
    'spec.terminationGracePeriodSeconds: Invalid value: "string": spec.terminationGracePeriodSeconds in body must be of type integer: "string"',
  ]);
  const [tooLarge] = problemsOf(
    pod({ containers: [container()], activeDeadlineSeconds: 5, priority: 2 ** 31 }),
  );
  assert.match(tooLarge ?? '', /^spec.priority: .* less than or equal to 2147483647$/);
  const secret = (data: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data });
  assert.deepEqual(problemsOf(secret({ a: '' })), []);
  assert.match(problemsOf(secret({ a: '!' }))[0] ?? '', /must be of type base64/);
  const definition: JsonObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'x' },
    spec: {
      versions: [
        {
          name: 'v1',
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                a: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: { b: { type: 'string', default: 'x', enum: ['x', null] } },
                  },
                },
              },
              'x-kubernetes-validations': [{ rule: 'true' }],
            },
          },
        },
      ],
    },
  };
  const before = structuredClone(definition);
  assert.deepEqual(
    builtinSchema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition')?.prune(definition),
    [],
  );
  assert.deepEqual(definition, before, 'schemas inside of a definition stay whole');
});

test('defaults that a rehearsal relies on', async (t) => {
  const cases: [string, JsonObject, Record<string, JsonValue>][] = [
    [
      'Pod',
      podWith({
        ports: [{ containerPort: 80 }],
        env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }),
      {
        'spec.restartPolicy': 'Always',
        'spec.terminationGracePeriodSeconds': 30,
        'spec.dnsPolicy': 'ClusterFirst',
        'spec.serviceAccountName': 'default',
        'spec.schedulerName': 'default-scheduler',
        'spec.securityContext': {},
        'spec.priority': 0,
        'spec.tolerations.1.key': 'node.kubernetes.io/unreachable',
        'spec.containers.0.imagePullPolicy': 'IfNotPresent',
        'spec.containers.0.ports.0.protocol': 'TCP',
        'spec.containers.0.terminationMessagePath': '/dev/termination-log',
        'spec.containers.0.env.0.valueFrom.fieldRef.apiVersion': 'v1',
      },
    ],
    [
      'latest is always pulled',
      podWith({ image: 'host:5000/i' }),
      { 'spec.containers.0.imagePullPolicy': 'Always' },
    ],
    [
      'a digest is not',
      podWith({ image: `host:5000/i@sha256:${'a'.repeat(64)}` }),
      { 'spec.containers.0.imagePullPolicy': 'IfNotPresent' },
    ],
    [
      'requests from limits',
      podWith({ resources: { limits: { cpu: '1' } } }),
      { 'spec.containers.0.resources.requests.cpu': '1' },
    ],
    [
      'volumes',
      pod({
        containers: [container()],
        volumes: [
          { name: 'a', configMap: { name: 'x' } },
          { name: 'b' },
          { name: 'c', hostPath: { path: '/x' } },
        ],
      }),
      {
        'spec.volumes.0.configMap.defaultMode': 420,
        'spec.volumes.1.emptyDir': {},
        'spec.volumes.2.hostPath.type': '',
      },
    ],
    [
      'probes',
      podWith({ readinessProbe: { httpGet: { port: 80 } } }),
      {
        'spec.containers.0.readinessProbe.periodSeconds': 10,
        'spec.containers.0.readinessProbe.httpGet.scheme': 'HTTP',
      },
    ],
    [
      'Job',
      job({}),
      {
        'spec.completions': 1,
        'spec.parallelism': 1,
        'spec.backoffLimit': 6,
        'spec.suspend': false,
        'spec.completionMode': 'NonIndexed',
      },
    ],
    [
      'Deployment',
      deployment({}),
      {
        'spec.replicas': 1,
        'spec.revisionHistoryLimit': 10,
        'spec.progressDeadlineSeconds': 600,
        'spec.strategy': { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
        'spec.template.spec.restartPolicy': 'Always',
      },
    ],
    [
      'Secret',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's' },
        data: { a: 'eA==' },
        stringData: { b: 'y', a: 'z' },
      },
      { type: 'Opaque', data: { a: 'eg==', b: 'eQ==' } },
    ],
    [
      'RoleBinding',
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'r' },
        roleRef: { kind: 'Role', name: 'x' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', name: 'a' },
        ],
      },
      {
        'roleRef.apiGroup': 'rbac.authorization.k8s.io',
        'subjects.0.apiGroup': 'rbac.authorization.k8s.io',
        'subjects.1': { kind: 'ServiceAccount', name: 'a' },
      },
    ],
  ];
  for (const [name, object, expected] of cases) {
    await t.test(name, () => {
      assert.deepEqual(problemsOf(object), []);
      for (const [path, value] of Object.entries(expected)) {
        const found = path
          .split('.')
          .reduce<JsonValue | undefined>(
            (at, key) => (Array.isArray(at) ? at[Number(key)] : valueAt(at, key)),
            object,
          );
        assert.deepEqual(found, value, path);
      }
      const once = structuredClone(object);
      assert.deepEqual(problemsOf(object, once), [], 'as its own update');
      assert.deepEqual(object, once, 'and completing it again changes nothing');
    });
  }
});

test('what is refused, in the words of the real server', async (t) => {
  const rbac = 'rbac.authorization.k8s.io/v1';
  const cases: [string, JsonObject, string[]][] = [
    ['no containers', pod({}), ['spec.containers: Required value']],
    ['no image', pod({ containers: [{ name: 'c' }] }), ['spec.containers[0].image: Required value']],
    [
      'name of a container',
      podWith({ name: 'A' }),
      [
        `spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
    [
      'two of a name',
      pod({ containers: [container(), container()] }),
      ['spec.containers[1].name: Duplicate value: "c"'],
    ],
    [
      'restart policy',
      pod({ containers: [container()], restartPolicy: 'Often' }),
      ['spec.restartPolicy: Unsupported value: "Often": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      'mount of nothing',
      podWith({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ],
    [
      'port',
      podWith({ ports: [{ containerPort: 0 }] }),
      ['spec.containers[0].ports[0].containerPort: Required value'],
    ],
    [
      'quantity',
      podWith({ resources: { requests: { cpu: '1Q' } } }),
      [
        `spec.containers[0].resources.requests.cpu: Invalid value: "1Q": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
      ],
    ],
    [
      'more than its limit',
      podWith({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
      [
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
      ],
    ],
    [
      'Job that restarts for ever',
      job({ template: { spec: { containers: [container()] } } }),
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'Job, negative',
      job({ backoffLimit: -1 }),
      ['spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'Deployment, labels',
      deployment({ template: { metadata: { labels: { app: 'b' } }, spec: { containers: [container()] } } }),
      [
        'spec.template.metadata.labels: Invalid value: {"app":"b"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'Deployment, no selector',
      deployment({ selector: null }),
      [
        'spec.selector: Required value',
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'PDB, both',
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: {},
        spec: { minAvailable: 1, maxUnavailable: '1%' },
      },
      [
        'spec: Invalid value: {"minAvailable":1,"maxUnavailable":"1%"}: minAvailable and maxUnavailable cannot be both set',
      ],
    ],
    [
      'ConfigMap key',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { 'a b': 'x' } },
      [
        `data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
      ],
    ],
    [
      'ConfigMap too large',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: 'x'.repeat(1024 * 1024 + 1) } },
      ['[]: Too long: may not be more than 1048576 bytes'],
    ],
    [
      'docker Secret',
      { apiVersion: 'v1', kind: 'Secret', metadata: {}, type: 'kubernetes.io/dockerconfigjson', data: {} },
      ['data[.dockerconfigjson]: Required value'],
    ],
    [
      'Role rule',
      { apiVersion: rbac, kind: 'Role', metadata: {}, rules: [{ apiGroups: [''], resources: ['pods'] }] },
      ['rules[0].verbs: Required value: verbs must contain at least one value'],
    ],
    [
      'binding without a kind',
      {
        apiVersion: rbac,
        kind: 'ClusterRoleBinding',
        metadata: {},
        roleRef: { kind: 'Role', name: 'x' },
        subjects: [{ kind: 'ServiceAccount', name: 'a' }],
      },
      [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        'subjects[0].namespace: Required value',
      ],
    ],
    [
      'Lease',
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {},
        spec: { leaseDurationSeconds: 0 },
      },
      ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    ],
  ];
  for (const [name, object, expected] of cases) {
    await t.test(name, () => assert.deepEqual(problemsOf(object), expected));
  }
});

test('what an update cannot change', async (t) => {
  const updated = (make: (spec: JsonObject) => JsonObject, before: JsonObject, after: JsonObject) => {
    const old = make(before);
    assert.deepEqual(problemsOf(old), []);
    return problemsOf(make(after), old).map((text) =>
      text.replace(/Invalid value: .*: field/, 'Invalid value: …: field'),
    );
  };
  await t.test('Job', () => {
    const template = (image: string): JsonObject => ({
      spec: { restartPolicy: 'Never', containers: [container({ image })] },
    });
    assert.deepEqual(updated(job, { template: template('a:1') }, { template: template('a:2') }), [
      'spec.template: Invalid value: …: field is immutable',
    ]);
    assert.deepEqual(updated(job, {}, { parallelism: 2, completions: 1, suspend: true }), []);
  });
  await t.test('Deployment', () => {
    const other = {
      selector: { matchLabels: { app: 'b' } },
      template: { metadata: { labels: { app: 'b' } }, spec: { containers: [container()] } },
    };
    assert.deepEqual(updated(deployment, {}, other), ['spec.selector: Invalid value: …: field is immutable']);
    assert.deepEqual(updated(deployment, {}, { replicas: 3 }), []);
  });
  await t.test('Pod', () => {
    const containers = [container()];
    assert.match(
      updated(pod, { containers }, { containers, hostNetwork: true })[0] ?? '',
      /^spec: Forbidden: pod updates may not change fields other than/,
    );
    assert.deepEqual(
      updated(pod, { containers }, { containers: [container({ image: 'example.com/i:2' })] }),
      [],
    );
    assert.deepEqual(
      updated(pod, { containers }, { containers, nodeName: 'a' }),
      [],
      'the scheduler gives it its node',
    );
    assert.equal(updated(pod, { containers, nodeName: 'a' }, { containers, nodeName: 'b' }).length, 1);
  });
  await t.test('immutable ConfigMap', () => {
    const map = (more: JsonObject): JsonObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm' },
      ...more,
    });
    const message = 'field is immutable when `immutable` is set';
    assert.deepEqual(updated(map, { immutable: true, data: { a: '1' } }, { data: { a: '2' } }), [
      `immutable: Forbidden: ${message}`,
      `data: Forbidden: ${message}`,
    ]);
  });
});

test('policies are checked when they are written', () => {
  const api = 'admissionregistration.k8s.io/v1';
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }];
  const policy = (spec: JsonObject): JsonObject => ({
    apiVersion: api,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'p' },
    spec: { matchConstraints: { resourceRules: rules }, ...spec },
  });
  assert.deepEqual(problemsOf(policy({ validations: [{ expression: 'has(object.spec)' }] })), []);
  const [broken] = problemsOf(policy({ validations: [{ expression: 'object.' }] }));
  assert.match(
    broken ?? '',
    /^spec.validations\[0\].expression: Invalid value: "object.": compilation failed/,
  );
  const [unknown] = problemsOf(policy({ validations: [{ expression: 'params.x == 1' }] }));
  assert.match(unknown ?? '', /undeclared reference to 'params'/);
  const needed = 'Required value: validations or auditAnnotations must contain at least one item';
  assert.deepEqual(problemsOf(policy({})), [
    `spec.validations: ${needed}`,
    `spec.auditAnnotations: ${needed}`,
  ]);
  const [dynamic] = problemsOf(policy({ validations: [{ expression: 'object.x' }] }));
  assert.match(dynamic ?? '', /must evaluate to bool but got dyn$/);
  const binding = (spec: JsonObject): JsonObject => ({
    apiVersion: api,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'b' },
    spec,
  });
  assert.deepEqual(problemsOf(binding({ policyName: 'p', validationActions: ['Deny'] })), []);
  assert.deepEqual(problemsOf(binding({ policyName: 'p', validationActions: ['Nope'] })), [
    'spec.validationActions[0]: Unsupported value: "Nope": supported values: "Audit", "Deny", "Warn"',
  ]);
  assert.deepEqual(
    problemsOf(binding({ policyName: 'p', validationActions: ['Deny'], paramRef: { name: 'x' } })),
    ['spec.paramRef.parameterNotFoundAction: Required value'],
  );
});

test('real manifests of a payload are good', needs('shared-data'), async (t) => {
  const root = join(sharedData, 'payload');
  let seen = 0;
  for (const component of readdirSync(root)) {
    for (const file of readdirSync(join(root, component)).filter((name) => name.endsWith('.yaml'))) {
      for (const document of parseAllDocuments(readFileSync(join(root, component, file), 'utf8'), {
        version: '1.1',
      })) {
        const object = document.toJS() as JsonValue;
        if (!isObject(object)) continue;
        const [group, version] = split(String(object.apiVersion));
        const kind = String(object.kind);
        const scope = builtInKinds.find(
          (each) => each.group === group && each.version === version && each.kind === kind,
        );
        if (scope === undefined || kind === 'CustomResourceDefinition') continue;
        // A manifest that only says what to delete need not be whole.
        const annotations = valueAt(object, 'metadata', 'annotations');
        if (isObject(annotations) && annotations['release.openshift.io/delete'] === 'true') continue;
        seen++;
        await t.test(`${component}/${file}: ${kind}`, () => {
          assert.deepEqual(builtinSchema(group, version, kind)?.unknownFields(object), []);
          assert.deepEqual(problemsOf(object), []);
          const metadata = validateMetadata(object, {
            namespaced: scope.namespaced,
            name: nameRuleOf(group, kind),
          });
          assert.deepEqual(metadata.map(errorText), []);
        });
      }
    }
  }
  assert.ok(seen > 20, 'there are manifests of kinds that are served');
});
