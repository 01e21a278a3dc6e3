import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from './object.ts';
import { everything, nameOfFieldSelector, parseSelector } from './selector.ts';

const object = (labels: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', labels },
  ...more,
});

test('no selector chooses everything', () => {
  assert.equal(parseSelector('', undefined, []), everything);
});

test('the quick look at the text never hides what matches', () => {
  const label = fc.constantFrom('a', 'b', 'app.kubernetes.io/name', 'x"y', 'c\\d');
  const value = fc.constantFrom('', '1', 'true', 'a.b', 'é');
  const requirement = fc.constantFrom(
    'a=1',
    'a!=1',
    'b in (1,true)',
    'b notin (1)',
    'a',
    '!b',
    'a=',
    'app.kubernetes.io/name=a.b',
  );
  fc.assert(
    fc.property(
      fc.dictionary(label, value),
      fc.array(requirement, { minLength: 1, maxLength: 3 }),
      (labels, parts) => {
        const selector = parseSelector(parts.join(','), undefined, []);
        const one = object(labels);
        if (selector.matches(one)) assert.ok(selector.mayMatch(JSON.stringify(one)));
      },
    ),
  );
});

test('fields are compared as text, absent ones as the empty text', () => {
  const fields = ['spec.nodeName', 'status.phase', 'spec.unschedulable'];
  const one = object({}, { spec: { nodeName: 'master-0' }, status: { phase: 'Running' } });
  const chosen = (text: string) => {
    const selector = parseSelector(undefined, text, fields);
    const matches = selector.matches(one);
    if (matches) assert.ok(selector.mayMatch(JSON.stringify(one)));
    return matches;
  };
  assert.ok(chosen('spec.nodeName=master-0,status.phase!=Pending'));
  assert.ok(chosen('metadata.name=p,metadata.namespace=n'));
  assert.ok(!chosen('spec.nodeName='));
  assert.ok(chosen('spec.unschedulable=false'));
  assert.ok(!chosen('spec.unschedulable=true'));
});

test('what cannot be read is refused', () => {
  for (const text of ['a in', 'a in (', '=b', 'a b', 'a in (b', '!']) {
    assert.throws(() => parseSelector(text, undefined, []), /found '|unable to parse/, text);
  }
  assert.throws(() => parseSelector(undefined, 'spec.x=1', ['spec.y']), /field label not supported: spec.x/);
});

test('a selector of any text ends in time', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      try {
        parseSelector(text, text, []);
      } catch (error) {
        assert.equal((error as { code?: number }).code, 400);
      }
    }),
  );
});

test('a name in a field selector is found', () => {
  assert.equal(nameOfFieldSelector('metadata.name=a'), 'a');
  assert.equal(nameOfFieldSelector('metadata.namespace=n,metadata.name==a'), 'a');
  assert.equal(nameOfFieldSelector('metadata.name!=a'), undefined);
  assert.equal(nameOfFieldSelector('metadata.namespace=n'), undefined);
});
