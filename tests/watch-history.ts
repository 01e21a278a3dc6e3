import assert from 'node:assert/strict';
import type { KubeObject } from '../src/api/core.ts';
import type { WatchEvent } from '../src/kube/watch.ts';

/** One event of a watch, as it was recorded. */
export interface RecordedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly key: string;
  readonly uid: string;
  readonly version: number;
}

export function recorded(event: WatchEvent<KubeObject>): RecordedEvent | undefined {
  if (event.type === 'BOOKMARK') return undefined;
  const { name, namespace = '', uid = '', resourceVersion } = event.object.metadata;
  return { type: event.type, key: `${namespace}/${name}`, uid, version: Number(resourceVersion) };
}

/**
 * Replays a recorded history against the model of a watch: versions only rise (ordered), none comes twice (unique), an
 * object is added before it changes and ends once, and what was acknowledged to a writer is there (complete).
 * @param acknowledged versions of the writes that succeeded, all of them after the beginning of the watch
 * @returns the keys that stand at the end
 */
export function checkHistory(
  history: readonly RecordedEvent[],
  acknowledged: ReadonlySet<number>,
): ReadonlySet<string> {
  const standing = new Map<string, string>();
  const seen = new Set<number>();
  let last = 0;
  for (const event of history) {
    const said = JSON.stringify(event);
    assert.ok(event.version > last, `not ordered: ${said} after ${last}`);
    assert.ok(!seen.has(event.version), `not unique: ${said}`);
    last = event.version;
    seen.add(event.version);
    const before = standing.get(event.key);
    if (event.type === 'ADDED') {
      assert.equal(before, undefined, `added twice: ${said}`);
      standing.set(event.key, event.uid);
      continue;
    }
    assert.equal(before, event.uid, `not of the object that stands: ${said}`);
    if (event.type === 'DELETED') standing.delete(event.key);
  }
  for (const version of acknowledged) assert.ok(seen.has(version), `not complete: ${version} is missing`);
  return new Set(standing.keys());
}
