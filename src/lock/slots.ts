/**
 * The slots of one group, as they stand in FleetLockGroup.status. The FleetLock protocol's "owned, recursive
 * counting semaphore" (zincati docs/development/fleetlock/protocol.md), with a drain before the grant and a soak after
 * the return: reserved slots count as taken, so that nothing is drained for a node that would get none.
 */
export interface Holder {
  /** The id of the client, as it sent it. */
  readonly id: string;
  /** The Node object that the id belongs to; absent where none matches. */
  readonly node?: string;
  readonly state: 'Reserved' | 'Draining' | 'Granted' | 'Soaking';
  /** RFC 3339; when it took the slot, or when it came back where it soaks. */
  readonly since: string;
  readonly lastSeen: string;
  /** The boot in which it took the slot, where the client tells; the protocol itself does not. */
  readonly bootID?: string;
  /** From where it asked. */
  readonly address?: string;
  /** What the drain waits for, for a person. */
  readonly message?: string;
}

export interface Slots {
  readonly slots: number;
  readonly holders: readonly Holder[];
}

/** A client as it asks. */
export interface LockClient {
  readonly id: string;
  readonly node?: string;
  readonly bootID?: string;
  readonly address?: string;
}

export type LockOutcome =
  /** The slot is this client's and its node is drained. `now`: it was not before. */
  | { readonly kind: 'granted'; readonly holders: readonly Holder[]; readonly now: boolean }
  /** The slot is this client's, its node is not drained yet. */
  | { readonly kind: 'draining'; readonly holders: readonly Holder[]; readonly message: string }
  | { readonly kind: 'full'; readonly message: string }
  /** A node has gone and not come back: nobody else goes until a person has looked. */
  | { readonly kind: 'unhealthy'; readonly message: string }
  /** Another host holds the slot under this very id: both would be away at once. */
  | { readonly kind: 'duplicate'; readonly message: string };

/** What the server knows beside the slots. */
export interface LockView {
  /** Whether this holder went away too long ago and is not back. */
  readonly overdue: (holder: Holder) => boolean;
  /** Whether the node of the client takes Pods although it should be drained. */
  readonly undrained: boolean;
  /** Whether the nodes of the group are drained at all. */
  readonly drains: boolean;
}

/** RecursiveLock: the same id twice is one slot. Pure. */
export function lock(group: Slots, client: LockClient, now: string, view: LockView): LockOutcome {
  const held = group.holders.find((holder) => holder.id === client.id);
  if (held === undefined) {
    const lost = group.holders.find(view.overdue);
    if (lost !== undefined) {
      const who = lost.node ?? lost.id;
      return {
        kind: 'unhealthy',
        message: `${who} left at ${lost.since} and is not back: nobody follows until it is, or its slot is released`,
      };
    }
    if (group.holders.length >= group.slots) {
      return { kind: 'full', message: takenBy(group) };
    }
  }
  if (held !== undefined && isAnotherHost(held, client)) {
    return {
      kind: 'duplicate',
      message: `${client.id} holds a slot since ${held.since} from ${held.address}, and now asks from ${client.address} in another boot: two hosts share one id`,
    };
  }
  const holder = held === undefined ? reserved(client, now, view) : again(held, client, now, view);
  const holders = sorted([...group.holders.filter((other) => other.id !== client.id), holder]);
  if (holder.state === 'Granted') return { kind: 'granted', holders, now: held?.state !== 'Granted' };
  return {
    kind: 'draining',
    holders,
    message: holder.message ?? `${holder.node ?? holder.id} is being drained`,
  };
}

function takenBy({ slots, holders }: Slots): string {
  const by = holders.map((holder) => `${holder.node ?? holder.id} since ${holder.since}`).join(', ');
  if (by === '') return 'the group has no slots';
  return slots === 1 ? `the only slot is taken by ${by}` : `all ${slots} slots are taken: ${by}`;
}

/**
 * Cloned machines have one id. A host that comes back has a new boot and its old address, or its old boot and, with a
 * new lease, another address; where both have changed, it is another host. Who has returned already may be either.
 */
function isAnotherHost(held: Holder, client: LockClient): boolean {
  const differ = (a: string | undefined, b: string | undefined) =>
    a !== undefined && b !== undefined && a !== b;
  return (
    held.state !== 'Soaking' && differ(held.bootID, client.bootID) && differ(held.address, client.address)
  );
}

/** Where there is no Node, there is nothing to drain. */
function reserved({ id, node, bootID, address }: LockClient, now: string, view: LockView): Holder {
  const state = node === undefined || !view.drains ? 'Granted' : 'Reserved';
  const from = { ...(bootID === undefined ? {} : { bootID }), ...(address === undefined ? {} : { address }) };
  return { id, ...(node === undefined ? {} : { node }), state, since: now, lastSeen: now, ...from };
}

function again(held: Holder, client: LockClient, now: string, view: LockView): Holder {
  if (held.state === 'Soaking') return reserved({ ...held, ...client }, now, view);
  const { bootID = held.bootID, address = held.address } = client;
  const seen = {
    ...held,
    lastSeen: now,
    ...(bootID === undefined ? {} : { bootID }),
    ...(address === undefined ? {} : { address }),
  };
  return held.state === 'Granted' && view.drains && view.undrained ? { ...seen, state: 'Draining' } : seen;
}

/** UnlockIfHeld: the holders without this client; the same list where it held nothing. Pure. */
export function unlock(group: Slots, id: string): readonly Holder[] {
  return group.holders.some((holder) => holder.id === id)
    ? group.holders.filter((holder) => holder.id !== id)
    : group.holders;
}

/** As `unlock`, and the slot stays taken while the node proves itself. Pure. */
export function soak(group: Slots, id: string, now: string): readonly Holder[] {
  const held = group.holders.find((holder) => holder.id === id);
  if (held === undefined || held.state === 'Soaking') return group.holders;
  if (held.node === undefined) return unlock(group, id);
  const { message: _, ...rest } = held;
  const soaking: Holder = { ...rest, state: 'Soaking', since: now, lastSeen: now };
  return sorted([...group.holders.filter((holder) => holder !== held), soaking]);
}

/** Moves one holder on; the same list where nothing changes or it is not there any more. Pure. */
export function advance(
  holders: readonly Holder[],
  id: string,
  state: Holder['state'],
  message?: string,
): readonly Holder[] {
  const held = holders.find((holder) => holder.id === id);
  if (held === undefined || held.state === 'Soaking') return holders;
  if (held.state === state && held.message === message) return holders;
  const { message: _, ...rest } = held;
  const moved = { ...rest, state, ...(message === undefined ? {} : { message }) };
  return sorted([...holders.filter((holder) => holder.id !== id), moved]);
}

/** Groups are named as the protocol says. */
export const groupForm = /^[a-zA-Z0-9.-]{1,63}$/;

function sorted(holders: readonly Holder[]): readonly Holder[] {
  return [...holders].sort((a, b) => (a.id < b.id ? -1 : 1));
}
