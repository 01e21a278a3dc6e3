import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slimJson } from './slim.ts';

const applied = 'kubectl.kubernetes.io/last-applied-configuration';
const metadata = {
  name: 'a',
  annotations: { [applied]: '{}', other: 'x' },
  managedFields: [{ manager: 'x' }],
};
const slimmed = { name: 'a', annotations: { other: 'x' } };

test('what no page shows is left out of lists, objects and events of watches', () => {
  const node = { metadata, status: { images: [{ names: ['x'] }], conditions: [] } };
  const lean = { metadata: slimmed, status: { conditions: [] } };
  const through = (value: object) => JSON.parse(slimJson(JSON.stringify(value)));
  assert.deepEqual(through({ kind: 'NodeList', metadata: { resourceVersion: '1' }, items: [node] }), {
    kind: 'NodeList',
    metadata: { resourceVersion: '1' },
    items: [lean],
  });
  assert.deepEqual(through({ kind: 'Node', ...node }), { kind: 'Node', ...lean });
  assert.deepEqual(through({ type: 'ADDED', object: { kind: 'Node', ...node } }), {
    type: 'ADDED',
    object: { kind: 'Node', ...lean },
  });
});

test('images of what is no node stay, and a text without bulk is not touched', () => {
  const other = { kind: 'Other', metadata: { name: 'a' }, status: { images: ['x'] } };
  assert.deepEqual(JSON.parse(slimJson(JSON.stringify(other))), other);
  const text = '{ "kind": "Node",  "metadata": {"name": "a"} }';
  assert.equal(slimJson(text), text);
  assert.equal(slimJson('{"type":"ERROR","object":{"code":410}}'), '{"type":"ERROR","object":{"code":410}}');
});
