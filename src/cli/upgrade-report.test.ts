import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { repository } from '../../tests/tier.ts';

test('a report is not written where a disk should be mounted and none is', (t) => {
  const media = mkdtempSync(join(tmpdir(), 'sluice-report-'));
  t.after(() => rmSync(media, { recursive: true }));
  const show = (out: string) =>
    spawnSync(join(repository, 'sluice'), ['upgrade', 'report', 'show', '--out', out], {
      encoding: 'utf8',
      env: { ...process.env, KUBECONFIG: join(media, 'none') },
    });
  const absent = join(media, 'usb', 'reports');
  const refused = show(absent);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /there is no directory .*\/usb\/reports, so nothing was written\n/);
  assert.match(refused.stderr, /next: Mount the disk .*: mkdir -p .*\/usb\/reports$/m);
  assert.equal(existsSync(join(media, 'usb')), false);
  writeFileSync(join(media, 'file'), '');
  assert.match(show(join(media, 'file')).stderr, /\/file is not a directory, so nothing was written/);
  assert.match(show(media).stderr, /kubeconfig/i, 'one that is there is no reason to refuse');
});
