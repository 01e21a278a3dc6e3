import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRelease, testKey } from '../../tests/bundles.ts';
import { silentLogger } from '../observe/log.ts';
import { openAttachments } from './attachments.ts';

test('attaching once more what is attached does not disturb who reads from it; detaching does', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-attachments-'));
  t.after(() => rm(directory, { recursive: true }));
  const key = testKey();
  const release = await makeRelease({ version: '1.0.0', dir: directory, key: key.pair });
  const attachments = await openAttachments({
    stateDir: directory,
    keys: async () => [key.trusted],
    accept: async () => {},
    logger: silentLogger,
  });
  t.after(() => attachments.close());
  const { media } = await attachments.attach(release.path);
  const repository = 'openshift/release-images';
  const [digest] = (await media?.content.links(repository, 'blob')) ?? [];
  assert.ok(media !== undefined && digest !== undefined);
  const file = await media.content.openBlob(repository, digest);
  assert.ok(file !== undefined);
  const again = await attachments.attach(release.path);
  assert.deepEqual([again.state, again.bundles.map(({ state }) => state)], ['Present', ['Verified']]);
  assert.equal((await file.read(0, 1)).length, 1);
  await attachments.detach(release.path);
  await assert.rejects(file.read(0, 1), { code: 'MediaLost' });
});
