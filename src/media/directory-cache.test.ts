import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDirectoryCache } from './directory-cache.ts';

test('directories are remembered up to a number and up to a size, and failed reads are not', async () => {
  const cache = createDirectoryCache<string, string>({ directoriesMax: 3, bytesMax: 100 });
  let reads = 0;
  const get = (key: string, bytes: number) =>
    cache.get(key, bytes, async () => {
      reads += 1;
      return key;
    });
  for (const key of ['a', 'b', 'c', 'a', 'b', 'c']) assert.equal(await get(key, 10), key);
  assert.equal(reads, 3);
  await get('d', 10); // The oldest makes place.
  await get('b', 10);
  assert.equal(reads, 4);
  await get('a', 10);
  assert.equal(reads, 5);
  await get('large', 95); // Everything else makes place.
  await get('large', 95);
  assert.equal(reads, 6);
  await get('a', 10);
  assert.equal(reads, 7);
  await get('huge', 1000); // Not even kept on its own.
  await get('huge', 1000);
  assert.equal(reads, 9);
  await assert.rejects(cache.get('bad', 1, async () => await Promise.reject(new Error('gone'))));
  assert.equal(await get('bad', 1), 'bad');
});
