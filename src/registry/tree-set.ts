import { isSluiceError, messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { createTurns } from '../turns/turns.ts';
import type { ServedTree } from './tree.ts';
import type { TreeEntry } from './tree-file.ts';

export interface TreeSetOptions {
  /** The trees that are wanted, in order. Errors keep those that stand. */
  readonly read: () => Promise<readonly TreeEntry[]>;
  /** Opens one: for media and peers that verifies the signature and reads the closure. */
  readonly open: (entry: TreeEntry) => Promise<ServedTree>;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The trees that the registry answers from. */
export interface TreeSet {
  /** Those that are open, in the order in which they are wanted. */
  current(): readonly ServedTree[];
  /** How many are wanted, and how many of them are open. */
  tally(): { readonly wanted: number; readonly open: number };
  /**
   * Reads what is wanted and opens what is new; what stands goes on meanwhile.
   * @param reopen which of those that stand are to be opened anew, because what they were checked against changed.
   */
  reload(reopen?: (entry: TreeEntry) => boolean): Promise<void>;
  /** Tries again those that could not be opened and are due. */
  retry(): Promise<void>;
  close(): Promise<void>;
}

interface Slot {
  readonly entry: TreeEntry;
  tree?: ServedTree;
  failures: number;
  retryAt: number;
  message?: string;
}

const retryFirstMs = 1_000;
const retryMostMs = 30_000;

export function createTreeSet(options: TreeSetOptions): TreeSet {
  const { logger, clock } = options;
  let slots = new Map<string, Slot>();
  let order: string[] = [];
  /** One at a time, in order, whoever asks. */
  const inTurn = createTurns();

  async function openSlot(slot: Slot): Promise<void> {
    try {
      slot.tree = await options.open(slot.entry);
      slot.failures = 0;
      delete slot.message;
      logger.info({ entry: slot.entry }, 'a tree is served');
    } catch (error) {
      slot.failures += 1;
      slot.retryAt = clock.now() + Math.min(retryMostMs, retryFirstMs * 2 ** (slot.failures - 1));
      const message = messageOf(error);
      // The same failure again is no news.
      if (slot.message !== message) {
        const code = isSluiceError(error) ? error.code : undefined;
        logger.warn({ entry: slot.entry, code, error: message }, 'a tree cannot be served');
      }
      slot.message = message;
    }
  }

  async function openMissing(): Promise<void> {
    for (const slot of slots.values()) {
      if (slot.tree === undefined && slot.retryAt <= clock.now()) await openSlot(slot);
    }
  }

  async function readAndOpen(reopen: (entry: TreeEntry) => boolean): Promise<void> {
    let wanted: readonly TreeEntry[];
    try {
      wanted = await options.read();
    } catch (error) {
      logger.error(
        { error: messageOf(error) },
        'the list of trees cannot be read: those that stand are kept',
      );
      return;
    }
    const next = new Map<string, Slot>();
    const closing: Slot[] = [];
    for (const entry of wanted) {
      const key = JSON.stringify(entry);
      const standing = slots.get(key);
      if (standing === undefined || reopen(entry)) next.set(key, { entry, failures: 0, retryAt: 0 });
      else next.set(key, standing);
    }
    for (const [key, slot] of slots) if (next.get(key) !== slot) closing.push(slot);
    slots = next;
    order = [...next.keys()];
    for (const slot of closing) await slot.tree?.close();
    await openMissing();
  }

  return {
    tally: () => ({
      wanted: slots.size,
      open: [...slots.values()].filter((slot) => slot.tree !== undefined).length,
    }),
    current: () => order.flatMap((key) => slots.get(key)?.tree ?? []),
    reload: (reopen = () => false) => inTurn(() => readAndOpen(reopen)),
    retry: () => inTurn(openMissing),
    close: () =>
      inTurn(async () => {
        for (const slot of slots.values()) await slot.tree?.close();
        slots = new Map();
        order = [];
      }),
  };
}
