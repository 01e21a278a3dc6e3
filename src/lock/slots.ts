/**
 * The slots of one group, as they stand in FleetLockGroup.status. The FleetLock protocol's "owned, recursive
 * counting semaphore" (zincati docs/development/fleetlock/protocol.md), and a drain between the two states of a
 * holder: reserved slots count as taken, so that nothing is drained for a node that would get none.
 */
export interface Holder {
  /** The id of the client, as it sent it. */
  readonly id: string;
  /** The Node object that the id belongs to; absent where none matches. */
  readonly node?: string;
  readonly state: 'Reserved' | 'Draining' | 'Granted';
  /** RFC 3339. */
  readonly since: string;
  readonly lastSeen: string;
  /** What the drain waits for, for a person. */
  readonly message?: string;
}

export interface Slots {
  readonly slots: number;
  readonly holders: readonly Holder[];
}

export type LockOutcome =
  /** The slot is this client's and its node is drained. */
  | { readonly kind: 'granted'; readonly holders: readonly Holder[] }
  /** The slot is this client's, its node is not drained yet. */
  | { readonly kind: 'draining'; readonly holders: readonly Holder[]; readonly message: string }
  | { readonly kind: 'full'; readonly message: string };

/** RecursiveLock: the same id twice is one slot. Pure. */
export function lock(group: Slots, client: { id: string; node?: string }, now: string): LockOutcome {
  const held = group.holders.find((holder) => holder.id === client.id);
  if (held === undefined && group.holders.length >= group.slots) {
    const by = group.holders.map((holder) => `${holder.node ?? holder.id} since ${holder.since}`).join(', ');
    return {
      kind: 'full',
      message: `all ${group.slots} slots are taken: ${by === '' ? 'the group has none' : by}`,
    };
  }
  const holder: Holder =
    held === undefined
      ? {
          id: client.id,
          ...(client.node === undefined ? {} : { node: client.node }),
          state: 'Reserved',
          since: now,
          lastSeen: now,
        }
      : { ...held, lastSeen: now };
  const holders = sorted([...group.holders.filter((other) => other.id !== client.id), holder]);
  if (holder.state === 'Granted') return { kind: 'granted', holders };
  return {
    kind: 'draining',
    holders,
    message: holder.message ?? `${holder.node ?? holder.id} is being drained`,
  };
}

/** UnlockIfHeld: the holders without this client; the same list where it held nothing. Pure. */
export function unlock(group: Slots, id: string): readonly Holder[] {
  return group.holders.some((holder) => holder.id === id)
    ? group.holders.filter((holder) => holder.id !== id)
    : group.holders;
}

/** Moves one holder on; the same list where nothing changes or it is not there any more. Pure. */
export function advance(
  holders: readonly Holder[],
  id: string,
  state: Holder['state'],
  message?: string,
): readonly Holder[] {
  const held = holders.find((holder) => holder.id === id);
  if (held === undefined || (held.state === state && held.message === message)) return holders;
  const { message: _, ...rest } = held;
  const moved = { ...rest, state, ...(message === undefined ? {} : { message }) };
  return sorted([...holders.filter((holder) => holder.id !== id), moved]);
}

/** Groups are named as the protocol says. */
export const groupForm = /^[a-zA-Z0-9.-]{1,63}$/;

function sorted(holders: readonly Holder[]): readonly Holder[] {
  return [...holders].sort((a, b) => (a.id < b.id ? -1 : 1));
}
