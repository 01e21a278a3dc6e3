import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimFile } from '../durable/claim.ts';
import { requireOwnDirectory } from './directory.ts';
import { upLayout } from './layout.ts';

test('a directory is taken where it is empty, not there, or of an earlier start, however early that was killed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-up-directory-'));
  t.after(() => rm(directory, { recursive: true }));
  await requireOwnDirectory(upLayout(join(directory, 'absent')));
  await requireOwnDirectory(upLayout(directory));
  await mkdir(join(directory, 'lost+found'));
  await requireOwnDirectory(upLayout(directory));

  const layout = upLayout(directory);
  const refused = { code: 'Conflict', message: /is not empty, and no cluster was ever started from it$/ };
  // Names that a cluster has, too, but not it alone.
  await mkdir(layout.api);
  await writeFile(layout.kubeconfig, '{}');
  await assert.rejects(requireOwnDirectory(layout), refused);

  // The first that a start makes; it stays when the process is killed.
  (await claimFile(layout.claim))?.release();
  await requireOwnDirectory(layout);
  await rm(layout.claim);
  for (const mark of [layout.state, layout.installed, layout.firstStart]) {
    await assert.rejects(requireOwnDirectory(layout), refused);
    await writeFile(mark, '{}');
    await requireOwnDirectory(layout);
    await rm(mark);
  }
});
