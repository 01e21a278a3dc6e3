import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlockDevice, mountOptions, whyNotMounted } from './media-mount.ts';

test('I12 nothing on a foreign disk may run or be written, and no journal is replayed', () => {
  for (const type of ['ext4', 'xfs', 'btrfs', 'vfat', 'exfat', 'squashfs', 'erofs']) {
    for (const option of ['ro', 'nosuid', 'nodev', 'noexec'])
      assert.ok(mountOptions(type).includes(option), type);
  }
  assert.ok(mountOptions('ext4').includes('noload'));
  assert.ok(mountOptions('xfs').includes('norecovery'));
  assert.ok(mountOptions('btrfs').includes('rescue=nologreplay'));
  assert.throws(() => mountOptions('ntfs'), /ntfs are not mounted/);
});

test('only removable and virtual disks that nobody uses are mounted', () => {
  const stick: BlockDevice = {
    path: '/dev/sdb1',
    fstype: 'ext4',
    rm: true,
    hotplug: true,
    type: 'part',
    mountpoints: [null],
    holders: [],
  };
  assert.equal(whyNotMounted(stick), undefined);
  assert.equal(whyNotMounted({ ...stick, rm: false, hotplug: false, type: 'rom' }), undefined);
  assert.match(whyNotMounted({ ...stick, rm: false, hotplug: false }) ?? '', /neither removable/);
  assert.match(whyNotMounted({ ...stick, mountpoints: ['/'] }) ?? '', /in use already, at \//);
  assert.match(whyNotMounted({ ...stick, holders: ['dm-0'] }) ?? '', /part of dm-0/);
});
