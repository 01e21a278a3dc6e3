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

/** A list that was made anew, since the history from which the watch was to go on was no longer kept. */
export interface RecordedList {
  readonly type: 'LISTED';
  readonly version: number;
  readonly objects: readonly { readonly key: string; readonly uid: string; readonly version: number }[];
}

export type Recorded = RecordedEvent | RecordedList;

export function recorded(event: WatchEvent<KubeObject>): RecordedEvent | undefined {
  return event.type === 'BOOKMARK' ? undefined : { type: event.type, ...pointOf(event.object) };
}

export function recordedList(list: { items: readonly KubeObject[]; resourceVersion: string }): RecordedList {
  return { type: 'LISTED', version: Number(list.resourceVersion), objects: list.items.map(pointOf) };
}

function pointOf({ metadata }: KubeObject): { key: string; uid: string; version: number } {
  const { name, namespace = '', uid = '', resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, uid, version: Number(resourceVersion) };
}

type Standing = Map<string, { readonly uid: string; readonly version: number }>;

/**
 * Replays a recorded history against the model of a watch: versions only rise (ordered), none comes twice (unique), an
 * object is added before it changes and ends once, and what was acknowledged to a writer is there (complete). A list
 * that was made anew stands for all that it has overtaken, and holds every object as it was last acknowledged before.
 * @param acknowledged versions of the writes that succeeded, all of them after the beginning of the watch, with the key
 * @returns the keys that stand at the end
 */
export function checkHistory(
  history: readonly Recorded[],
  acknowledged: ReadonlyMap<number, string>,
): ReadonlySet<string> {
  let standing: Standing = new Map();
  const missing = new Map(acknowledged);
  let last = 0;
  for (const event of history) {
    const said = JSON.stringify(event);
    if (event.type === 'LISTED') {
      assert.ok(event.version >= last, `not ordered: ${said} after ${last}`);
      standing = relisted(event, standing, missing);
      last = event.version;
      continue;
    }
    assert.ok(event.version > last, `not ordered, or twice: ${said} after ${last}`);
    last = event.version;
    missing.delete(event.version);
    const before = standing.get(event.key);
    if (event.type === 'ADDED') assert.equal(before, undefined, `added twice: ${said}`);
    else assert.equal(before?.uid, event.uid, `not of the object that stands: ${said}`);
    if (event.type === 'DELETED') standing.delete(event.key);
    else standing.set(event.key, event);
  }
  for (const version of missing.keys()) assert.fail(`not complete: ${version} is missing`);
  return new Set(standing.keys());
}

/** What stands after a list; takes the writes that it has overtaken from `missing`. */
function relisted(list: RecordedList, before: Standing, missing: Map<number, string>): Standing {
  const standing: Standing = new Map();
  for (const one of list.objects) {
    const said = JSON.stringify(one);
    assert.ok(!standing.has(one.key), `listed twice: ${said}`);
    assert.ok(one.version <= list.version, `listed from the future of ${list.version}: ${said}`);
    const known = before.get(one.key);
    assert.ok(known === undefined || one.version >= known.version, `older than it was: ${said}`);
    standing.set(one.key, one);
  }
  for (const [version, key] of missing) {
    if (version > list.version) continue;
    missing.delete(version);
    const held = standing.get(key);
    assert.ok(held === undefined || held.version >= version, `not complete: ${key} was ${version} already`);
  }
  return standing;
}

/** What a whole history says stood at a version, to hold a list of that version against. */
export function standingAt(history: readonly RecordedEvent[], version: number): RecordedList['objects'] {
  const standing = new Map<string, RecordedList['objects'][number]>();
  for (const { type, ...point } of history) {
    if (point.version > version) break;
    if (type === 'DELETED') standing.delete(point.key);
    else standing.set(point.key, point);
  }
  return [...standing.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
