import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { takePlace, takePlaceOver } from '../demo/place.ts';
import { root as clone, commandLine, stopCommand, usualPlace } from '../demo/stage.ts';
import { isSluiceError } from '../src/errors/error.ts';
import { wordsOf } from './shell.ts';

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
  const directory = join(root, 'the place');
  mkdirSync(directory);
  const first = await takePlace(directory);
  writeFileSync(join(directory, 'left'), 'by a run that was killed');
  const second = await takePlace(directory).catch((error: unknown) => error);
  assert.ok(isSluiceError(second, 'Conflict'));
  assert.match(second.message, /another \.\/quickstart runs/);
  const [, command = ''] = /end it with (.*), or give/.exec(second.next) ?? [];
  assert.deepEqual(wordsOf(command), ['./quickstart', '--stop', '--dir', directory]);
  await first.empty();
  assert.ok(!existsSync(join(directory, 'left')));
  await first.remove();
  assert.ok(!existsSync(directory));
});

test('the commands that the demo shows can be typed, also long ones with blanks in their paths', () => {
  assert.deepEqual(wordsOf(stopCommand(usualPlace)), ['./quickstart', '--stop']);
  for (const count of [1, 9]) {
    const images = Array.from({ length: count }, (_, index) => `web${index}=oci:/tmp/x --y/images:${index}`);
    const line = commandLine('/opt/my dir/sluice', [
      'bundle',
      'build',
      '--image',
      ...images,
      `${clone}/media`,
    ]);
    assert.deepEqual(wordsOf(line.slice(2)), [
      ...['/opt/my dir/sluice', 'bundle', 'build', '--image', ...images, 'media'],
    ]);
  }
});
