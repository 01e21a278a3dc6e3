import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildReport, checkRows, coverageRows, type Row, rowsMax } from './report.ts';

const now = '2026-01-02T00:00:00Z';
const none = new Set<string>();
const row = (name: string, result: Row['result'], fields: Partial<Row> = {}): Row => ({
  name,
  result,
  component: 'c',
  severity: 'blocking',
  message: 'm',
  ...fields,
});

test('what blocks comes first, what passed last', () => {
  const report = buildReport(
    [row('P', 'Passed'), row('W', 'Risk', { severity: 'warning' }), row('E', 'Error'), row('R', 'Risk')],
    none,
    [],
    now,
  );
  assert.deepEqual(
    report.checks.map((each) => each.name),
    ['R', 'E', 'W', 'P'],
  );
  assert.equal(report.verdict, 'Blocked');
});

test('an accepted risk is marked and no longer blocks', () => {
  const report = buildReport([row('R', 'Risk'), row('P', 'Passed')], new Set(['R']), [], now);
  assert.deepEqual([report.verdict, report.reason], ['Passed', 'RisksAccepted']);
  assert.equal(report.checks.find((each) => each.name === 'R')?.accepted, true);
  const withdrawn = buildReport(report.checks, none, report.checks, now);
  assert.deepEqual([withdrawn.verdict, withdrawn.checks[0]?.accepted], ['Blocked', undefined]);
});

test('a row keeps the time since when its result stands', () => {
  const before = [row('R', 'Risk', { since: '2026-01-01T00:00:00Z' })];
  assert.equal(buildReport([row('R', 'Risk')], none, before, now).checks[0]?.since, '2026-01-01T00:00:00Z');
  assert.equal(buildReport([row('R', 'Error')], none, before, now).checks[0]?.since, now);
});

test('each risk of a check is a row of its own, with the component and the Job', () => {
  const check = { check: 'demo', name: 'Demo', component: 'net', manifest: {} as never };
  const risks = [
    {
      name: 'LegacyMode',
      severity: 'blocking' as const,
      message: 'on',
      objects: ['configmap/a/b'],
      next: 'turn it off',
    },
  ];
  assert.deepEqual(checkRows(check, { result: 'Risk', reason: 'RisksFound', message: '', risks }, 'ns/job'), [
    {
      name: 'LegacyMode',
      component: 'net',
      job: 'ns/job',
      result: 'Risk',
      severity: 'blocking',
      reason: 'RisksFound',
      message: 'on',
      next: 'turn it off',
      objects: ['configmap/a/b'],
    },
  ]);
});

test('P-106 what could not be read is an error, what has no check is skipped, and both are told', () => {
  const rows = coverageRows({
    checks: [],
    without: ['dns'],
    unreadable: [{ component: 'net', name: 'Bad', message: 'a second check' }],
  });
  assert.deepEqual(
    rows.map((each) => [each.name, each.result]),
    [
      ['ReleaseChecks', 'Passed'],
      ['Bad', 'Error'],
      ['NoCheck', 'Skipped'],
    ],
  );
});

test('P-38 a report stays within what the API stores, and says where it was cut', () => {
  const rows = Array.from({ length: 1000 }, (_, index) =>
    row(`R${index}`, 'Passed', { message: 'x'.repeat(5000) }),
  );
  const report = buildReport(rows, none, [], now);
  assert.equal(report.checks.length, rowsMax);
  const cut = report.checks.find((each) => each.name === 'ReportTooLong');
  assert.equal(cut?.result, 'Skipped');
  assert.equal(report.verdict, 'Passed');
  assert.ok(Buffer.byteLength(JSON.stringify(report.checks)) < 128 * 1024);
  const risks = buildReport(
    Array.from({ length: 1000 }, (_, index) => row(`R${index}`, 'Risk', { message: 'x'.repeat(5000) })),
    none,
    [],
    now,
  );
  assert.equal(risks.checks.find((each) => each.name === 'ReportTooLong')?.result, 'Error');
  assert.equal(risks.verdict, 'Blocked');
});

test('P-38 a usual report stays below 16 KiB: what passed is told shortest, what blocks longest', () => {
  const rows = Array.from({ length: 60 }, (_, index) =>
    row(`Operator${index}Check`, 'Passed', {
      job: `openshift-update-preflight/operator-${index}-check-0123456789`,
      message: 'looked at every node, every setting and every object of its own, and found nothing '.repeat(
        3,
      ),
    }),
  );
  const long = 'the subnet of this node is not served by the new router '.repeat(10);
  const report = buildReport([...rows, row('DualStack', 'Risk', { message: long })], none, [], now);
  assert.ok(Buffer.byteLength(JSON.stringify(report.checks)) <= 14 * 1024);
  const risk = report.checks[0];
  assert.deepEqual([risk?.name, (risk?.message ?? '').length > 300], ['DualStack', true]);
});
