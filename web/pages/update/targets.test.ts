import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Facts } from '../../data/facts.ts';
import { targetsOf, whyNotStart } from './targets.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `q.example/r@${digest(letter)}`;
const bundle = (version: string, letter: string) => ({
  name: `b-${version}`,
  version,
  bundleDigest: digest(letter === 'a' ? 'd' : 'e'),
  payload: digest(letter),
  state: 'Available',
});

/** A cluster that goes to 1.1.0, or has come there. */
function facts(state: 'Partial' | 'Completed'): Facts {
  return {
    version: {
      metadata: { name: 'version' },
      spec: {},
      status: {
        desired: { version: '1.1.0', image: image('b') },
        history: [
          { state, version: '1.1.0', image: image('b') },
          { state: 'Completed', version: '1.0.0', image: image('a') },
        ],
      },
    },
    images: undefined,
    operators: [],
    nodes: [],
    updates: [
      {
        metadata: { name: 'm0' },
        spec: {},
        status: { store: [bundle('1.0.0', 'a'), bundle('1.1.0', 'b')] },
      },
    ],
    preflights: [],
    locks: [],
  } as unknown as Facts;
}

test('a release that is being applied does not run yet, and the one before is not behind yet', () => {
  const reaches = (of: Facts) => targetsOf(of).map(({ version, reach }) => `${version} ${reach}`);
  assert.deepEqual(reaches(facts('Partial')), ['1.1.0 coming', '1.0.0 leaving']);
  assert.deepEqual(reaches(facts('Completed')), ['1.1.0 current', '1.0.0 past']);
  const moving = facts('Partial');
  assert.ok(targetsOf(moving).every((target) => whyNotStart(moving, target) !== undefined));
});
