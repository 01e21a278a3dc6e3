import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { inUse } from './in-use.ts';
import { stepToFree } from './use-steps.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `quay.example/release@${digest(letter)}`;

/** Why each release is in use, and what to do, while the cluster stands like this. */
function stepsOf(states: readonly [version: string, letter: string, state: string][], requested?: string) {
  const history = states.map(([version, letter, state]) => ({ version, state, image: image(letter) }));
  const [desired] = history;
  const found = inUse({
    clusterVersion: {
      desired,
      requested: requested === undefined ? undefined : { version: requested },
      history,
    },
    nodes: [{ name: 'master-0', images: [image('9')] }],
    releases: [
      { name: 'r-0.9.0', version: '0.9.0', payload: digest('e'), images: [digest('9')] },
      { name: 'r-1.0.0', version: '1.0.0', payload: digest('a'), images: [digest('1')] },
      { name: 'r-1.1.0', version: '1.1.0', payload: digest('b'), images: [digest('2')] },
      { name: 'r-1.2.0', version: '1.2.0', payload: digest('c'), images: [digest('3')] },
    ],
  });
  const version = { status: { history } } as unknown as ClusterVersion;
  return Object.fromEntries([...(found?.names ?? [])].map(([name, why]) => [name, stepToFree(why, version)]));
}

test('what uses a release says what to do: wait for the update, for the node, or take the request back', () => {
  const under = stepsOf([
    ['1.1.0', 'b', 'Partial'],
    ['1.0.0', 'a', 'Completed'],
  ]);
  assert.match(
    under['r-1.0.0'] ?? '',
    /^Wait until the update to 1\.1\.0 .*upgrade status\), then run this again/,
  );
  assert.match(under['r-1.1.0'] ?? '', /^Wait until the update to 1\.1\.0 .*It stays after that too/);
  assert.match(under['r-0.9.0'] ?? '', /^Wait until master-0 has rebooted.*node why master-0/);
  const rests = stepsOf([['1.1.0', 'b', 'Completed']], '1.2.0');
  assert.match(rests['r-1.1.0'] ?? '', /update to another release first/);
  assert.match(rests['r-1.2.0'] ?? '', /^Take that request back \(sluice upgrade clear\)/);
});
