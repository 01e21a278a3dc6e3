import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { takePlace, takePlaceOver } from '../demo/place.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-place-'));
after(() => rmSync(root, { recursive: true, force: true }));

test('a directory with files of somebody else is neither emptied nor removed', async () => {
  const directory = join(root, 'mine');
  mkdirSync(directory);
  writeFileSync(join(directory, 'thesis.txt'), 'years');
  const foreign = { code: 'Conflict', message: /not of \.\/quickstart/ };
  await assert.rejects(takePlace(directory), foreign);
  await assert.rejects(
    takePlaceOver(directory, () => {}),
    foreign,
  );
  assert.deepEqual(readdirSync(directory), ['thesis.txt']);
});

test('what an earlier run left is emptied, and the place goes in the end; an empty one may be taken', async () => {
  const directory = join(root, 'place');
  mkdirSync(directory);
  const first = await takePlace(directory);
  writeFileSync(join(directory, 'left'), 'by a run that was killed');
  await assert.rejects(takePlace(directory), { code: 'Conflict', message: /another \.\/quickstart runs/ });
  await first.empty();
  assert.ok(!existsSync(join(directory, 'left')));
  await first.remove();
  assert.ok(!existsSync(directory));
});
