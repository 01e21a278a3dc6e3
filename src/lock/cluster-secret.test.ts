import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { names } from '../api/names.ts';
import { acceptedIn, clusterSecrets, rotateClusterSecret } from './cluster-secret.ts';
import { rememberSecrets } from './secret-memory.ts';

test('the secret of the lock is made once, rotates with an hour for the one before it, and comes back when it is gone', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { kinds } = client;
  const { lockSecret: name, clusterVersionNamespace: namespace } = names(client.platform);
  await client.create(kinds.Namespace, { metadata: { name: namespace } });
  const now = Date.parse('2026-11-29T20:00:00Z');
  // Two replicas that start together mean the same one.
  const [one, two] = await Promise.all([clusterSecrets(client, now), clusterSecrets(client, now)]);
  assert.deepEqual(one, two);
  assert.match(one[0] ?? '', /^[0-9a-f]{64}$/);
  assert.deepEqual(await clusterSecrets(client, now), one, 'what stands is left alone');

  assert.equal(await rotateClusterSecret(client, now, false), '2026-11-29T21:00:00Z');
  const both = await clusterSecrets(client, now + 3_599_000);
  assert.deepEqual([both.length, both[1]], [2, one[0]]);
  assert.notEqual(both[0], one[0]);
  assert.deepEqual(await clusterSecrets(client, now + 3_600_000), [both[0]]);

  assert.equal(await rotateClusterSecret(client, now, true), undefined);
  const [last, ...others] = await clusterSecrets(client, now);
  assert.deepEqual(others, [], 'known to the wrong people: none before it counts');
  assert.ok(!both.includes(last ?? ''));

  await client.delete(kinds.Secret, name, { namespace });
  const [again] = await clusterSecrets(client, now);
  assert.ok(again !== undefined && again !== last);
});

test('a Secret without a word lets nobody in', () => {
  const coded = (text: string) => Buffer.from(text).toString('base64');
  assert.deepEqual(acceptedIn({}, 0), []);
  assert.deepEqual(acceptedIn({ data: { secret: coded('short') } }, 0), []);
  const previous = { previous: coded('a'.repeat(16)), 'previous-until': coded('not a time') };
  assert.deepEqual(acceptedIn({ data: { secret: coded('b'.repeat(16)), ...previous } }, 0), ['b'.repeat(16)]);
});

test('what is accepted is read again when it is old, or when something else is shown, but once a second', async () => {
  let at = 0;
  let reads = 0;
  let answer: () => Promise<readonly string[]> = async () => ['one'];
  const secrets = rememberSecrets(
    () => {
      reads += 1;
      return answer();
    },
    { monotonic: () => at },
  );
  answer = () => Promise.reject(new Error('the API is gone'));
  await assert.rejects(secrets(false), /the API is gone/, 'never read: nobody is let in');
  answer = async () => ['one'];
  assert.deepEqual(await Promise.all([secrets(false), secrets(true), secrets(false)]), [
    ['one'],
    ['one'],
    ['one'],
  ]);
  assert.equal(reads, 2);
  answer = async () => ['two'];
  at = 999;
  assert.deepEqual(await secrets(true), ['one'], 'whoever tries many keeps the API not busy');
  at = 1_000;
  assert.deepEqual([await secrets(false), await secrets(true)], [['one'], ['two']]);
  answer = () => Promise.reject(new Error('the API is gone'));
  at = 60_000;
  assert.deepEqual(await secrets(false), ['two'], 'what was read last counts');
});

test('readings that fail one upon the other leave nothing behind: the next question is answered', async () => {
  let at = 0;
  const waiting: PromiseWithResolvers<readonly string[]>[] = [];
  const secrets = rememberSecrets(
    () => {
      waiting.push(Promise.withResolvers());
      return waiting.at(-1)?.promise ?? Promise.reject(new Error('none'));
    },
    { monotonic: () => at },
  );
  const first = secrets(false);
  at = 20_000; // The API does not answer, and the next one does not wait for it.
  const second = secrets(false);
  for (const each of waiting) each.reject(new Error('the API is gone'));
  await assert.rejects(first, /is gone/);
  await assert.rejects(second, /is gone/);
  const third = secrets(false);
  assert.equal(waiting.length, 3, 'it reads again, at once');
  waiting[2]?.resolve(['one']);
  assert.deepEqual(await third, ['one']);
});
