import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '../schema/json.ts';
import { createAdmission } from './admission.ts';
import type { AdmissionRequest, AdmissionSource } from './request.ts';

const machineConfig = 'machineconfiguration.openshift.io';

/** The guard of InternalReleaseImage: what is in use, by a ConfigMap, cannot be taken away. */
const guard = policy('sluice-in-use', {
  failurePolicy: 'Fail',
  paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
  matchConstraints: {
    resourceRules: [
      {
        apiGroups: [machineConfig],
        apiVersions: ['*'],
        operations: ['UPDATE', 'DELETE'],
        resources: ['internalreleaseimages'],
        scope: '*',
      },
    ],
  },
  variables: [
    {
      name: 'inUse',
      expression: "has(params.data) && has(params.data.names) ? params.data.names.split('\\n') : []",
    },
    { name: 'kept', expression: 'object == null ? [] : object.spec.releases.map(r, r.name)' },
    { name: 'lost', expression: 'variables.inUse.filter(name, !(name in variables.kept))' },
  ],
  validations: [
    {
      expression: 'size(variables.lost) == 0',
      messageExpression: "'in use: ' + variables.lost.join(', ')",
      reason: 'Forbidden',
    },
  ],
});

const guardBinding = binding('sluice-in-use', {
  policyName: 'sluice-in-use',
  paramRef: {
    name: 'sluice-in-use',
    namespace: 'openshift-machine-config-operator',
    parameterNotFoundAction: 'Deny',
  },
  validationActions: ['Deny'],
});

const inUse: JsonObject = {
  metadata: { name: 'sluice-in-use', namespace: 'openshift-machine-config-operator' },
  data: { names: 'a\nb' },
};

function policy(name: string, spec: JsonObject): JsonObject {
  return { metadata: { name, uid: name, generation: 1 }, spec };
}

function binding(name: string, spec: JsonObject): JsonObject {
  return { metadata: { name }, spec };
}

const images = (...names: string[]): JsonObject => ({
  metadata: { name: 'cluster', labels: { tier: 'gold' } },
  spec: { releases: names.map((name) => ({ name })) },
});

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'u',
    operation: 'UPDATE',
    group: machineConfig,
    version: 'v1alpha1',
    kind: 'InternalReleaseImage',
    resource: 'internalreleaseimages',
    name: 'cluster',
    user: { username: 'jane', groups: ['admins'] },
    dryRun: false,
    object: images('a', 'b'),
    oldObject: images('a', 'b', 'c'),
    ...more,
  };
}

function source(more: Partial<AdmissionSource> = {}): AdmissionSource {
  return {
    policies: () => [guard],
    bindings: () => [guardBinding],
    namespace: (name) => ({ metadata: { name, labels: { env: 'test' } } }),
    params: (_apiVersion, _kind, namespace) =>
      namespace === 'openshift-machine-config-operator' ? [inUse] : [],
    paramsNamespaced: (apiVersion, kind) => (apiVersion === 'v1' && kind === 'ConfigMap' ? true : undefined),
    authorize: (user, attributes) => ({
      allowed: user.username === 'root' && 'verb' in attributes,
      reason: '',
    }),
    ...more,
  };
}

test('C: what is in use cannot be taken out of the spec, nor deleted', () => {
  const admission = createAdmission(source());
  assert.equal(admission.review(request()).denied, undefined, 'c is not in use');
  assert.deepEqual(admission.review(request({ object: images('a') })).denied, {
    code: 403,
    reason: 'Forbidden',
    message:
      "ValidatingAdmissionPolicy 'sluice-in-use' with binding 'sluice-in-use' denied request: in use: b",
    isCause: true,
  });
  const deletion = request({ operation: 'DELETE', object: null, oldObject: images('a', 'b') });
  assert.match(admission.review(deletion).denied?.message ?? '', /in use: a, b$/);
  assert.equal(
    admission.review(request({ operation: 'CREATE', object: images(), oldObject: null })).denied,
    undefined,
  );
  const other = request({ resource: 'machineconfignodes', object: images() });
  assert.equal(admission.review(other).denied, undefined);
  const status = request({ subresource: 'status', object: images() });
  assert.equal(admission.review(status).denied, undefined);
});

test('C: an unknown in-use set denies', () => {
  const admission = createAdmission(source({ params: () => [] }));
  assert.equal(
    admission.review(request()).denied?.message,
    "ValidatingAdmissionPolicy 'sluice-in-use' with binding 'sluice-in-use' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
  );
  const unserved = createAdmission(source({ paramsNamespaced: () => undefined }));
  assert.match(
    unserved.review(request()).denied?.message ?? '',
    /paramKind kind `v1, Kind=ConfigMap` not known/,
  );
});

/** A policy of one validation on everything, bound with these actions. */
function judged(
  spec: JsonObject,
  given: Partial<AdmissionRequest> = {},
  bound: JsonObject = {},
  more: Partial<AdmissionSource> = {},
) {
  const everything: JsonObject = {
    resourceRules: [
      { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*', '*/*'], scope: '*' },
    ],
  };
  return createAdmission(
    source({
      policies: () => [policy('p', { matchConstraints: everything, ...spec })],
      bindings: () => [binding('b', { policyName: 'p', validationActions: ['Deny'], ...bound })],
      ...more,
    }),
  ).review(request(given));
}

const one = (expression: string, more: JsonObject = {}): JsonObject => ({
  validations: [{ expression, ...more }],
});

test('messages and reasons', () => {
  const denied = (spec: JsonObject) => judged(spec).denied;
  const prefix = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
  assert.deepEqual(denied(one('1 == 2')), {
    code: 422,
    reason: 'Invalid',
    message: `${prefix}failed expression: 1 == 2`,
    isCause: true,
  });
  assert.equal(denied(one('1 == 2', { message: 'no' }))?.message, `${prefix}no`);
  assert.equal(
    denied(one('1 == 2', { message: 'no', messageExpression: "'so ' + request.name" }))?.message,
    `${prefix}so cluster`,
  );
  assert.equal(
    denied(one('1 == 2', { message: 'no', messageExpression: "'a\\nb'" }))?.message,
    `${prefix}no`,
  );
  assert.equal(
    denied(one('1 == 2', { message: 'no', messageExpression: 'string(object.spec.nope)' }))?.message,
    `${prefix}no`,
  );
  assert.equal(denied(one('1 == 2', { reason: 'Unauthorized' }))?.code, 401);
  assert.match(
    denied(one('object.spec.nope == 1'))?.message ?? '',
    /expression 'object.spec.nope == 1' resulted in error: no such key: nope$/,
  );
  assert.match(denied(one('nope == 1'))?.message ?? '', /undeclared reference to 'nope'/);
});

test('what expressions can read', async (t) => {
  const truths = [
    "request.operation == 'UPDATE' && request.kind.kind == 'InternalReleaseImage' && request.resource.resource == 'internalreleaseimages'",
    "request.userInfo.username == 'jane' && 'admins' in request.userInfo.groups && !request.dryRun",
    'size(object.spec.releases) == 2 && size(oldObject.spec.releases) == 3',
    'namespaceObject == null',
    "!authorizer.group('').resource('pods').namespace('x').check('get').allowed()",
    "!authorizer.requestResource.check('delete').allowed() && !authorizer.path('/x').check('get').allowed()",
    "!authorizer.serviceAccount('x', 'y').group('apps').resource('deployments').check('get').allowed()",
  ];
  for (const expression of truths) {
    await t.test(expression, () => assert.equal(judged(one(expression)).denied, undefined));
  }
  await t.test('the namespace of the request', () => {
    const verdict = judged(one("namespaceObject.metadata.labels.env == 'test' && request.namespace == 'n'"), {
      namespace: 'n',
    });
    assert.equal(verdict.denied, undefined);
  });
  await t.test('the object is null when it is deleted, the old one when it is new', () => {
    assert.equal(
      judged(one('object == null && oldObject != null'), { operation: 'DELETE', object: null }).denied,
      undefined,
    );
    assert.equal(
      judged(one('oldObject == null'), { operation: 'CREATE', oldObject: null }).denied,
      undefined,
    );
  });
});

test('failurePolicy Ignore lets errors pass, but not what is false', () => {
  const ignore = { failurePolicy: 'Ignore' };
  assert.equal(judged({ ...ignore, ...one('object.spec.nope == 1') }).denied, undefined);
  assert.notEqual(judged({ ...ignore, ...one('1 == 2') }).denied, undefined);
});

test('match conditions', () => {
  const when = (...expressions: string[]): JsonObject => ({
    matchConditions: expressions.map((expression, at) => ({ name: `c${at}`, expression })),
    ...one('1 == 2'),
  });
  assert.equal(judged(when("request.userInfo.username != 'jane'")).denied, undefined);
  assert.notEqual(judged(when("request.userInfo.username == 'jane'")).denied, undefined);
  assert.equal(
    judged(when('object.spec.nope == 1', '1 == 2')).denied,
    undefined,
    'one that is false wins over an error',
  );
  assert.match(judged(when('object.spec.nope == 1')).denied?.message ?? '', /no such key/);
});

test('selectors and scopes', () => {
  const match = (constraints: JsonObject, given: Partial<AdmissionRequest> = {}) =>
    judged(one('1 == 2'), given, { matchResources: constraints }).denied !== undefined;
  assert.equal(match({ objectSelector: { matchLabels: { tier: 'gold' } } }), true);
  assert.equal(match({ objectSelector: { matchLabels: { tier: 'iron' } } }), false);
  assert.equal(match({ namespaceSelector: { matchLabels: { env: 'test' } } }, { namespace: 'n' }), true);
  assert.equal(match({ namespaceSelector: { matchLabels: { env: 'live' } } }, { namespace: 'n' }), false);
  assert.equal(
    match({ namespaceSelector: { matchLabels: { env: 'live' } } }),
    true,
    'cluster-scoped objects are never exempted',
  );
  const rule = (more: JsonObject): JsonObject => ({
    resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], ...more }],
  });
  assert.equal(match(rule({ scope: 'Namespaced' })), false);
  assert.equal(match(rule({ scope: 'Cluster' })), true);
  assert.equal(match(rule({ resourceNames: ['other'] })), false);
  assert.equal(match(rule({ apiVersions: ['v9'] })), true, 'Equivalent');
  assert.equal(match({ ...rule({ apiVersions: ['v9'] }), matchPolicy: 'Exact' }), false);
  assert.equal(match({ excludeResourceRules: rule({}).resourceRules as JsonValue }), false);
});

test('Warn and Audit tell without refusing', () => {
  const verdict = judged(one('1 == 2', { message: 'no' }), {}, { validationActions: ['Warn', 'Audit'] });
  assert.equal(verdict.denied, undefined);
  assert.deepEqual(verdict.warnings, [
    "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no",
  ]);
  const [entry] = JSON.parse(verdict.audit['validation.policy.admission.k8s.io/validation_failure'] ?? '[]');
  assert.deepEqual(entry, {
    message: 'no',
    policy: 'p',
    binding: 'b',
    expressionIndex: 0,
    validationActions: ['Warn', 'Audit'],
  });
});

test('audit annotations', () => {
  const spec = {
    auditAnnotations: [
      { key: 'who', valueExpression: 'request.userInfo.username' },
      { key: 'none', valueExpression: "''" },
    ],
  };
  assert.deepEqual(judged(spec).audit, { 'p/who': 'jane' });
});

test('params are taken by name or by selector, of the namespace of the request where none is named', () => {
  const withParams: JsonObject = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    ...one("params.data.ok == 'yes'"),
  };
  const params = (namespace: string): JsonObject[] => [
    { metadata: { name: 'good', namespace, labels: { use: 'yes' } }, data: { ok: 'yes' } },
    { metadata: { name: 'bad', namespace, labels: { use: 'no' } }, data: { ok: namespace } },
  ];
  const run = (paramRef: JsonObject, given: Partial<AdmissionRequest> = {}) =>
    judged(withParams, given, { paramRef }, { params: (_a, _k, namespace) => params(namespace) }).denied
      ?.message;
  assert.equal(run({ name: 'good', namespace: 'x', parameterNotFoundAction: 'Deny' }), undefined);
  assert.match(
    run({ name: 'bad', namespace: 'x', parameterNotFoundAction: 'Deny' }) ?? '',
    /failed expression/,
  );
  assert.equal(
    run({ selector: { matchLabels: { use: 'yes' } }, namespace: 'x', parameterNotFoundAction: 'Deny' }),
    undefined,
  );
  assert.match(
    run({ selector: {}, namespace: 'x', parameterNotFoundAction: 'Deny' }) ?? '',
    /failed expression/,
  );
  assert.equal(run({ name: 'bad', parameterNotFoundAction: 'Deny' }, { namespace: 'yes' }), undefined);
  assert.match(
    run({ name: 'good', parameterNotFoundAction: 'Deny' }) ?? '',
    /cannot use namespaced paramRef/,
  );
  assert.equal(run({ name: 'absent', namespace: 'x', parameterNotFoundAction: 'Allow' }), undefined);
});

test('policies do not judge policies, and hostile ones end', () => {
  const own = { group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' };
  assert.equal(judged(one('1 == 2'), own).denied, undefined);
  const list = JSON.stringify(Array.from({ length: 200 }, (_, at) => at));
  const hostile = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`;
  assert.match(judged(one(hostile)).denied?.message ?? '', /actual cost limit exceeded/);
});

test('variables are evaluated once, when they are first read', () => {
  const spec: JsonObject = {
    variables: [
      { name: 'broken', expression: 'object.spec.nope' },
      { name: 'count', expression: 'size(object.spec.releases)' },
      { name: 'twice', expression: 'variables.count * 2' },
    ],
    validations: [{ expression: 'variables.twice == 4' }],
  };
  assert.equal(judged(spec).denied, undefined);
  assert.match(
    judged({ ...spec, validations: [{ expression: 'variables.broken == 1' }] }).denied?.message ?? '',
    /no such key: nope/,
  );
  assert.match(
    judged({ ...spec, validations: [{ expression: 'variables.absent == 1' }] }).denied?.message ?? '',
    /undefined field 'absent'/,
  );
});
