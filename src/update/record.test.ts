import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ConfigMap } from '../api/core.ts';
import { isReported, packed, recordKeys, reportPatch, unpacked } from './record.ts';

const configMapBytesMax = 1024 * 1024;
const holding = (parts: Pick<ConfigMap, 'data' | 'binaryData'>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'update', namespace: 'n', resourceVersion: '7' },
  ...parts,
});
const { report } = recordKeys;

test('the report of a fleet of 2,000 fits a ConfigMap and comes out as it went in; that of a few can be read there', () => {
  const boot = () => ({
    bootID: randomUUID(),
    osImage: `registry.sluice-system.svc:22625/openshift/release@sha256:${'1'.repeat(64)}`,
    osVersion: '419.97.202511',
  });
  const nodes = Array.from({ length: 2000 }, (_, index) => ({
    name: `ip-10-0-${index >> 8}-${index & 255}.eu-central-1.compute.internal`,
    role: 'worker',
    before: boot(),
    after: boot(),
    rebooted: true,
    updatedAt: '2026-11-30T12:00:00Z',
  }));
  const payload = Buffer.from(JSON.stringify({ accepted: { nodes }, nodes })).toString('base64');
  const text = JSON.stringify({ payload });
  assert.ok(text.length > configMapBytesMax, 'else the test shows nothing');
  const object = holding(packed(report, text));
  const bytes = Buffer.from(object.binaryData?.[`${report}.gz`] ?? '', 'base64').length;
  assert.ok(bytes > 0 && bytes < configMapBytesMax / 2, `${bytes} bytes`);
  assert.equal(unpacked(object, report), text);
  assert.deepEqual(packed(report, '{}'), { data: { [report]: '{}' } });
  assert.equal(unpacked(holding({ data: { [report]: '{}' } }), report), '{}');
  assert.equal(unpacked(holding({}), report), undefined);
  assert.deepEqual([object, holding({ data: { [report]: '{}' } }), holding({})].map(isReported), [
    true,
    true,
    false,
  ]);
});

test('what was accepted goes, in whichever form it stood, when the report comes', () => {
  const accepted = holding(packed(recordKeys.accepted, 'a'.repeat(600_000)));
  assert.deepEqual(reportPatch(accepted, '{}', 'PEM'), {
    metadata: { resourceVersion: '7' },
    data: { [recordKeys.accepted]: null, [recordKeys.publicKey]: 'PEM', [report]: '{}' },
    binaryData: { [`${recordKeys.accepted}.gz`]: null },
  });
  const small = reportPatch(holding(packed(recordKeys.accepted, '{}')), '{}', 'PEM');
  assert.equal('binaryData' in small, false);
});

test('what is no compressed report is refused by name', () => {
  const of = (bytes: string) =>
    holding({ binaryData: { [`${report}.gz`]: Buffer.from(bytes).toString('base64') } });
  assert.throws(
    () => unpacked(of('no gzip'), report),
    /report\.dsse\.json\.gz of the ConfigMap update cannot be read/,
  );
});
