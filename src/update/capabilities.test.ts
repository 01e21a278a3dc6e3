import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilitiesOf } from './capabilities.ts';

test('nothing said means everything, names of other releases too', () => {
  const { isEnabled, implicit } = capabilitiesOf(undefined, undefined);
  assert.ok(isEnabled('Console') && isEnabled('SomethingNew'));
  assert.deepEqual(implicit, []);
});

for (const [baselineCapabilitySet, has, lacks] of [
  ['None', [], ['marketplace', 'Console', 'SomethingNew']],
  ['v4.11', ['marketplace', 'MachineAPI'], ['Console']],
  ['v4.12', ['marketplace', 'Console'], ['NodeTuning']],
  ['v4.17', ['Ingress', 'CloudCredential'], ['OperatorLifecycleManagerV1', 'SomethingNew']],
  ['v4.18', ['OperatorLifecycleManagerV1'], ['SomethingNew']],
  ['vCurrent', ['OperatorLifecycleManagerV1', 'SomethingNew'], []],
] as const) {
  test(`the baseline ${baselineCapabilitySet}`, () => {
    const { isEnabled } = capabilitiesOf({ baselineCapabilitySet }, undefined);
    assert.deepEqual(
      has.filter((name) => !isEnabled(name)),
      [],
    );
    assert.deepEqual(
      lacks.filter((name) => isEnabled(name)),
      [],
    );
  });
}

test('more may be asked for by name', () => {
  const { isEnabled } = capabilitiesOf(
    { baselineCapabilitySet: 'None', additionalEnabledCapabilities: ['Console'] },
    undefined,
  );
  assert.ok(isEnabled('Console') && !isEnabled('Storage'));
});

test('what is there is not taken away by asking for less, and that is told', () => {
  const before = capabilitiesOf({ baselineCapabilitySet: 'v4.12' }, undefined).status;
  const less = capabilitiesOf({ baselineCapabilitySet: 'v4.11' }, before);
  assert.ok(less.isEnabled('Console'));
  assert.deepEqual(less.implicit, ['CSISnapshot', 'Console', 'Insights', 'Storage']);
});
