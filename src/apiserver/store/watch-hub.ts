import type { Change, KeyRange, RevisionStore } from './revisions.ts';

/** Takes the changes of its range, in order, each once. */
export interface WatchSink {
  changes(changes: readonly Change[]): void;
  /** The revision up to which everything has been delivered, when nothing of the range has moved for a while. */
  bookmark(revision: number): void;
}

/** Changes of history that are handed over at once, so that a long history does not block others. */
const replayChangesMax = 500;

/**
 * Hands each committed change to those who watch its key. Who starts at an old revision first gets what happened
 * since, then what happens: the two meet in one turn of the event loop, so there is no gap and no duplicate.
 */
export class WatchHub {
  readonly #store: RevisionStore;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  readonly #stop: () => void;

  constructor(store: RevisionStore) {
    this.#store = store;
    this.#stop = store.onCommit((changes) => this.#publish(changes));
  }

  /**
   * Delivers changes after `from`. Keys are grouped by their first part, which is all of the range's resource.
   * @returns ends the watch
   * @throws 410 where the history after `from` is compacted
   */
  watch(storage: string, range: KeyRange, from: number, sink: WatchSink): () => void {
    let batch: Change[] = [];
    for (const change of this.#store.since(range, from)) {
      batch.push(change);
      if (batch.length === replayChangesMax) {
        sink.changes(batch);
        batch = [];
      }
    }
    if (batch.length > 0) sink.changes(batch);
    const subscription: Subscription = { range, sink };
    const others = this.#subscriptions.get(storage) ?? new Set();
    this.#subscriptions.set(storage, others);
    others.add(subscription);
    return () => {
      others.delete(subscription);
      if (others.size === 0 && this.#subscriptions.get(storage) === others)
        this.#subscriptions.delete(storage);
    };
  }

  /** Tells everyone who watches up to where they have seen everything. */
  bookmarkAll(): void {
    for (const subscriptions of this.#subscriptions.values()) {
      for (const { sink } of subscriptions) sink.bookmark(this.#store.revision);
    }
  }

  close(): void {
    this.#stop();
    this.#subscriptions.clear();
  }

  #publish(changes: readonly Change[]): void {
    const byStorage = new Map<string, Change[]>();
    for (const change of changes) {
      const storage = change.key.slice(0, change.key.indexOf('/'));
      const group = byStorage.get(storage);
      if (group === undefined) byStorage.set(storage, [change]);
      else group.push(change);
    }
    for (const [storage, group] of byStorage) {
      for (const { range, sink } of [...(this.#subscriptions.get(storage) ?? [])]) {
        const wanted = group.filter((change) => change.key >= range.from && change.key < range.to);
        if (wanted.length > 0) sink.changes(wanted);
      }
    }
  }
}

interface Subscription {
  readonly range: KeyRange;
  readonly sink: WatchSink;
}
