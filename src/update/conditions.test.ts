import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../gates/finding.ts';
import { judge } from '../gates/finding.ts';
import { type RequestView, type UpdateView, updateConditions } from './conditions.ts';
import { acceptedRisksText, readRefusal, refusalOf } from './refusal.ts';

const release = { version: '1.1.0', image: 'q.example/r@sha256:b' };
const idle: UpdateView = {
  ...release,
  completed: true,
  everCompleted: true,
  done: 0,
  total: 0,
  waiting: [],
  implicit: [],
};
const moving: UpdateView = {
  ...idle,
  completed: false,
  done: 3,
  total: 7,
  waiting: [{ message: 'Deployment a/b (0 of 1 updated)' }],
};

function texts(
  request: RequestView,
  update: UpdateView,
  upgradeable: { name: string; message: string }[] = [],
) {
  const conditions = updateConditions([], { request, update, upgradeable }, 0);
  return Object.fromEntries(
    conditions.map((each) => [each.type, `${each.status} ${each.reason} ${each.message}`]),
  );
}

test('at rest', () => {
  const told = texts({ state: 'none' }, idle);
  assert.equal(told.Progressing, 'False Completed Cluster version is 1.1.0');
  assert.equal(told.Available, 'True ReleaseApplied Done applying 1.1.0');
  assert.match(told.ReleaseAccepted ?? '', /^True PayloadLoaded /);
  assert.equal(told.Failing, 'False AsExpected Nothing fails at 1.1.0');
  assert.deepEqual([told.Invalid, told.Upgradeable], [undefined, undefined]);
});

test('on the way, it counts and says what it waits on', () => {
  assert.equal(
    texts({ state: 'none' }, moving).Progressing,
    'True Applying Working towards 1.1.0: 3 of 7 done (42% complete), waiting on Deployment a/b (0 of 1 updated)',
  );
});

test('errors while applying show in Failing and Progressing', () => {
  const told = texts(
    { state: 'none' },
    {
      ...moving,
      waiting: [
        { message: 'm1', failing: 'A' },
        { message: 'm2', failing: 'B' },
      ],
    },
  );
  assert.equal(told.Failing, 'True MultipleErrors m1; m2');
  assert.equal(told.Progressing, 'True MultipleErrors Unable to apply 1.1.0: m1; m2');
});

test('every condition has a reason and a message that explains itself', () => {
  const states: [RequestView, UpdateView][] = [
    [{ state: 'none' }, idle],
    [{ state: 'none' }, moving],
    [{ state: 'none' }, { ...moving, everCompleted: false }],
    [{ state: 'invalid', message: 'no' }, idle],
    [{ state: 'none' }, { ...moving, waiting: [{ message: 'm', failing: 'Abc' }], implicit: ['Console'] }],
  ];
  for (const [request, update] of states) {
    for (const each of updateConditions([], { request, update, upgradeable: [] }, 0)) {
      assert.match(each.reason ?? '', /^[A-Z][A-Za-z]+$/, each.type);
      assert.ok((each.message ?? '').length > 0, each.type);
    }
  }
});

test('an operator that takes too long is told apart from one that fails', () => {
  const waiting = [{ message: 'cluster operator dns to report operator 1.1.0', operator: 'dns', since: 0 }];
  const at = (minutes: number, operator = 'dns') => {
    const view = { ...moving, waiting: waiting.map((wait) => ({ ...wait, operator })) };
    return Object.fromEntries(
      updateConditions(
        [],
        { request: { state: 'none' }, update: view, upgradeable: [] },
        minutes * 60_000,
      ).map((each) => [each.type, `${each.status} ${each.reason} ${each.message}`]),
    );
  };
  assert.match(at(29).Failing ?? '', /^False AsExpected/);
  assert.match(at(30).Failing ?? '', /^Unknown SlowClusterOperator waiting on dns for longer than expected/);
  assert.match(
    at(30).Progressing ?? '',
    /^True SlowClusterOperator Working towards .*, since 1970-01-01T00:00Z$/,
  );
  assert.match(at(89, 'machine-config').Failing ?? '', /^False/);
  assert.match(at(90, 'machine-config').Failing ?? '', /^Unknown SlowClusterOperator/);
});

test('an invalid request stops at the version that runs', () => {
  const told = texts({ state: 'invalid', message: 'no' }, idle);
  assert.equal(told.Invalid, 'True InvalidClusterVersion no');
  assert.match(told.Progressing ?? '', /Stopped at 1\.1\.0: the cluster version is invalid/);
});

test('P-94 a name that cannot be a reason falls back', () => {
  assert.match(
    texts({ state: 'none' }, idle, [{ name: 'ClusterOperatorUpgradeable-a', message: 'm' }]).Upgradeable ??
      '',
    /^False RiskNameNotCompatible/,
  );
  assert.match(
    texts({ state: 'none' }, idle, [
      { name: 'A', message: 'x' },
      { name: 'B', message: 'y' },
    ]).Upgradeable ?? '',
    /^False MultipleReasons .*\n\* x\n\* y/,
  );
});

const risk = (name: string, fields: Partial<Finding> = {}): Finding => ({
  name,
  gate: 'preflight',
  severity: 'blocking',
  result: 'Risk',
  message: 'found it',
  ...fields,
});
const none = { accepted: new Set<string>(), force: false };

test('a refusal names every finding and what to do', () => {
  const view = refusalOf(judge([risk('A', { next: 'Mend it.' }), risk('B')], none), release);
  assert.equal(view.waiting, false);
  assert.match(
    view.message,
    /Multiple precondition checks failed:\n\* Precondition "A" failed because of "preflight": found it\n {2}Next: Mend it\.\n\* Precondition "B"/,
  );
});

test('a refusal can be read back, to be shown, as it was written', () => {
  const findings = [
    risk('A', { next: 'Mend it:\n* like this' }),
    risk('B.x-y', { gate: 'edge', message: 'two\n* lines "quoted": here' }),
    risk('Preflight', { result: 'Running', message: 'runs' }),
  ];
  const read = (some: Finding[]) => readRefusal(refusalOf(judge(some, none), release).message);
  const wanted = [
    { name: 'A', gate: 'preflight', message: 'found it', next: 'Mend it: * like this' },
    { name: 'B.x-y', gate: 'edge', message: 'two * lines "quoted": here' },
    { name: 'Preflight', message: 'runs' },
  ];
  assert.deepEqual(read(findings), wanted);
  findings.forEach((finding, index) => {
    assert.deepEqual(read([finding]), [wanted[index]]);
  });
  assert.equal(readRefusal('Stopped at 1.0.0: the cluster version is invalid'), undefined);
  assert.equal(readRefusal('The update cannot be verified: version="" image="x": y'), undefined);
});

test('P-128 while it is only looked at, ReleaseAccepted is Unknown', () => {
  const view = refusalOf(judge([risk('Preflight', { result: 'Running', message: 'runs' })], none), release);
  assert.match(
    texts(view, idle).ReleaseAccepted ?? '',
    /^Unknown PreconditionChecks Looking at .*Preflight: runs/,
  );
});

test('P-74 a signature that fails says why', () => {
  const view = refusalOf(
    judge([risk('ReleaseSignature', { gate: 'signature', message: 'no trusted key signed it' })], none),
    release,
  );
  assert.match(
    texts(view, idle).ReleaseAccepted ?? '',
    /^False RetrievePayload Retrieving payload failed .*no trusted key signed it/,
  );
});

test('P-62 the history says forced only where something really blocked', () => {
  const warning = risk('W', { severity: 'warning' });
  assert.equal(acceptedRisksText(judge([warning], { ...none, force: true })), undefined);
  assert.match(
    acceptedRisksText(judge([risk('A'), warning], { ...none, force: true })) ?? '',
    /^Forced through blocking failures: A: found it$/,
  );
  assert.match(
    acceptedRisksText(judge([risk('A')], { accepted: new Set(['A']), force: true })) ?? '',
    /^exposed to the risks \[A\], which were explicitly accepted/,
  );
});
