import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../observe/metrics.ts';
import { type CopyView, idleView } from './copy-view.ts';
import { createContentMetrics } from './metrics.ts';
import type { StoreView } from './store-view.ts';

test('of each copy under way: bytes, images, rate and the time that is left, where it is known', async () => {
  const progress = { phase: 'Copying', bytesDone: 400, bytesTotal: 1000, imagesDone: 2, imagesTotal: 5 };
  const moving = { ...idleView('a'), progress, rate: 200 } as unknown as CopyView;
  const standing = { ...idleView('b'), progress } as unknown as CopyView;
  const metrics = createMetrics();
  createContentMetrics(metrics, {
    copies: () => [moving, standing],
    attachments: () => [],
    store: () => ({ records: new Map() }) as unknown as StoreView,
    space: async () => ({ bytesFree: 1, bytesTotal: 2 }) as never,
  });
  const text = await metrics.render();
  for (const line of [
    'sluice_content_copy_bytes{release="a",kind="done"} 400',
    'sluice_content_copy_images{release="a",kind="done"} 2',
    'sluice_content_copy_images{release="a",kind="total"} 5',
    'sluice_content_copy_rate_bytes_per_second{release="a"} 200',
    'sluice_content_copy_left_seconds{release="a"} 3',
    'sluice_content_copy_rate_bytes_per_second{release="b"} 0',
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
  }
  assert.doesNotMatch(text, /left_seconds\{release="b"\}/);
});
