import type { KubeObject } from '../object.ts';
import { everything, parseSelector, type Selector } from '../selector.ts';
import type { Served } from '../served.ts';
import type { Change } from '../store/revisions.ts';
import { type Engine, parseStored, servedJson } from './engine.ts';
import type { ListQuery } from './list-options.ts';
import { checkWatchOptions } from './list-options.ts';
import { listObjects, parseResourceVersion, rangeOf, tooLargeVersion } from './read.ts';

export type WatchType = 'ADDED' | 'BOOKMARK' | 'DELETED' | 'ERROR' | 'MODIFIED';

export interface WatchQuery extends ListQuery {
  readonly allowWatchBookmarks?: boolean | undefined;
}

/** One event; `json` is the text of its object. */
export interface WatchEvent {
  readonly type: WatchType;
  readonly json: string;
  /** The change whose text this is, unchanged: the same for everyone who watches it. */
  readonly change?: Change;
}

/**
 * Watches a resource: first, where no version to start from is given, an ADDED for each object that exists, then
 * every change in order. `send` is called synchronously with the events of one commit, in the turn in which a change was committed.
 * @returns ends it
 * @throws 400, 410 (the history is compacted), 504 (a version in the future)
 */
export function watchObjects(
  engine: Engine,
  served: Served,
  namespace: string,
  query: WatchQuery,
  send: (events: readonly WatchEvent[]) => void,
): () => void {
  checkWatchOptions(query);
  const selector = parseSelector(query.labelSelector, query.fieldSelector, served.selectableFields);
  const asked = parseResourceVersion(query.resourceVersion);
  if (asked > engine.store.revision) throw tooLargeVersion(asked, engine.store.revision);
  const initial = query.sendInitialEvents ?? asked === 0;
  const from = initial || asked === 0 ? engine.store.revision : asked;
  if (initial) sendInitial(engine, served, namespace, query, send);
  return engine.watches.watch(served.storage, rangeOf(served, namespace, query.fieldSelector), from, {
    changes(changes) {
      const events = changes.map((change) => translate(served, selector, change));
      send(events.filter((event) => event !== undefined));
    },
    bookmark(revision) {
      if (query.allowWatchBookmarks === true) send([bookmark(served, revision)]);
    },
  });
}

function sendInitial(
  engine: Engine,
  served: Served,
  namespace: string,
  query: WatchQuery,
  send: (events: readonly WatchEvent[]) => void,
): void {
  const { labelSelector, fieldSelector } = query;
  const { items } = listObjects(engine, served, namespace, { labelSelector, fieldSelector });
  send(items.map((json) => ({ type: 'ADDED', json })));
  if (query.sendInitialEvents !== true || query.allowWatchBookmarks !== true) return;
  // A client of streaming lists waits for this annotation (KEP-3157).
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  send([bookmark(served, engine.store.revision, { annotations })]);
}

/** What a change is for one who sees only what the selector chooses; undefined where it is nothing. */
function translate(served: Served, selector: Selector, change: Change): WatchEvent | undefined {
  const json = servedJson(served, change.value);
  if (selector === everything) {
    const type = change.deleted ? 'DELETED' : change.before === undefined ? 'ADDED' : 'MODIFIED';
    return { type, json, change };
  }
  const before = change.before !== undefined && chosen(served, selector, change.before);
  const after = !change.deleted && chosen(served, selector, change.value);
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', json, change };
  if (!before) return undefined;
  if (change.deleted) return { type: 'DELETED', json, change };
  // It has left the selection: the object as it last was in it, at the revision that took it out.
  const last: KubeObject = parseStored(served, change.before ?? change.value);
  last.metadata.resourceVersion = String(change.revision);
  return { type: 'DELETED', json: JSON.stringify(last) };
}

function chosen(served: Served, selector: Selector, json: string): boolean {
  return selector.mayMatch(json) && selector.matches(parseStored(served, json));
}

function bookmark(served: Served, revision: number, metadata: object = {}): WatchEvent {
  const { kind, apiVersion } = served;
  const object = { kind, apiVersion, metadata: { resourceVersion: String(revision), ...metadata } };
  return { type: 'BOOKMARK', json: JSON.stringify(object) };
}
