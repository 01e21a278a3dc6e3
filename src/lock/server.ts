import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { readBody } from '../http/server.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { parseStrictJson } from '../oci/json.ts';
import { createGatekeeper, type LockAccess, plainAddress } from './access.ts';
import { createApiStore } from './api-store.ts';
import { drainIsPossible, isReady, uncordon } from './drain.ts';
import { bootHeader } from './identity.ts';
import { keepHolders } from './keeper.ts';
import { createLockMetrics } from './metrics.ts';
import { createNodeDirectory, type NodeDirectory, noNodes } from './node-directory.ts';
import { askAgainS, createQueue } from './queue.ts';
import { groupForm, type Holder, type LockClient, lock, soak, unlock } from './slots.ts';
import type { LockGroup, LockStore } from './store.ts';
import { createTidings, logTidings, slotGranted, type Tidings } from './tidings.ts';

export interface LockServerOptions {
  readonly client: KubeClient;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the watch on Nodes. */
  readonly signal: AbortSignal;
  /** Default: root and the own user of this machine, and every other machine. */
  readonly access?: LockAccess;
}

/** An answer of the protocol. `kind` becomes a label of the client's metrics, so their set is small and closed. */
interface Answer {
  readonly status: number;
  readonly kind?:
    | 'invalid_client_identity'
    | 'unknown_group'
    | 'failed_lock_semaphore_full'
    | 'previous_holder_unhealthy'
    | 'draining'
    | 'duplicate_id'
    | 'unauthorized'
    | 'method_not_allowed'
    | 'not_found'
    | 'internal_error';
  readonly value?: string;
  /** Seconds after which to ask again (RFC 9110, Retry-After). */
  readonly retryAfterS?: number;
}

const bodyBytesMax = 16 * 1024;
const idLengthMax = 253;

export interface LockServer {
  readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Drains the nodes of reserved slots and lets soaked ones go, until the signal aborts: for one replica at a time. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * The FleetLock server on a cluster. Its state is FleetLockGroup.status. A slot is reserved at once and granted when
 * the node is drained; meanwhile the answer is 423, which every client of the protocol takes as "ask again".
 */
export function createLockServer(options: LockServerOptions): LockServer {
  const { client } = options;
  const store = createApiStore(client);
  const nodes = createNodeDirectory(client, options);
  const tidings = createTidings(client, options);
  return {
    handler: createLockHandler({
      ...options,
      store,
      nodes,
      tidings,
      uncordon: (node) => uncordon(client, node),
    }),
    run: (signal) => drainHolders({ ...options, signal }),
  };
}

/** As `LockServer.run`, with a client of its own: only the leader drains. */
export function drainHolders(options: LockServerOptions): Promise<void> {
  const { client } = options;
  return keepHolders({ ...options, store: createApiStore(client), tidings: createTidings(client, options) });
}

/** The FleetLock server of a fleet without a cluster: the protocol over a store, nothing is drained. */
export function createPlainLockHandler(
  options: Omit<LockServerOptions, 'client' | 'signal'> & { readonly store: LockStore },
): LockServer['handler'] {
  const tidings = logTidings(options.logger);
  return createLockHandler({ ...options, nodes: noNodes, tidings, uncordon: async () => {} });
}

function createLockHandler(options: {
  readonly store: LockStore;
  readonly nodes: NodeDirectory;
  readonly uncordon: (node: string) => Promise<void>;
  readonly tidings: Tidings;
  readonly access?: LockAccess;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}): LockServer['handler'] {
  const { store, nodes, clock, logger, tidings } = options;
  const queue = createQueue(clock);
  const gatekeeper = createGatekeeper(options.access ?? { trustedUids: [] });
  const metrics = createLockMetrics(
    options.metrics,
    () => store.groups(),
    () => clock.now(),
  );

  /** Gone for too long: its node is not Ready, or, where it has none, it has not asked since. */
  function overdue(group: LockGroup, holder: Holder, now: number): boolean {
    if (holder.state !== 'Granted' || now - Date.parse(holder.since) < group.overdueMs) return false;
    const node = holder.node === undefined ? undefined : nodes.get(holder.node);
    return node === undefined ? now - Date.parse(holder.lastSeen) >= group.overdueMs : !isReady(node);
  }

  async function preReboot(group: string, client: LockClient): Promise<Answer> {
    const node = await nodes.find(client.id);
    const name = node?.metadata.name;
    const now = clock.now();
    const undrained =
      name !== undefined && node?.spec?.unschedulable !== true && drainIsPossible(nodes.list(), name);
    const outcome = await store.change(group, (slots) => {
      const asking = { ...client, ...(name === undefined ? {} : { node: name }) };
      const decided = lock(slots, asking, rfc3339(now), {
        overdue: (holder) => overdue(slots, holder, now),
        undrained,
        drains: slots.drain !== 'None',
      });
      return { holders: 'holders' in decided ? decided.holders : slots.holders, result: decided };
    });
    const waiting = `${group}/${client.id}`;
    if (outcome?.kind !== 'full') queue.left(waiting);
    switch (outcome?.kind) {
      case undefined:
        return { status: 404, kind: 'unknown_group', value: `there is no group '${group}'` };
      case 'full':
        return {
          status: 423,
          kind: 'failed_lock_semaphore_full',
          value: outcome.message,
          retryAfterS: queue.refused(waiting),
        };
      case 'unhealthy':
        return { status: 423, kind: 'previous_holder_unhealthy', value: outcome.message };
      case 'draining':
        return { status: 423, kind: 'draining', value: outcome.message, retryAfterS: askAgainS.least };
      case 'duplicate':
        tidings(group, { type: 'Warning', reason: 'DuplicateId', message: outcome.message });
        return { status: 409, kind: 'duplicate_id', value: outcome.message };
      case 'granted':
        if (outcome.now) tidings(group, slotGranted(name ?? client.id, rfc3339(now)));
        return { status: 200 };
    }
  }

  /** UnlockIfHeld is never refused: not for one that holds nothing, nor in a group that is gone. */
  async function steadyState(group: string, { id, bootID, address }: LockClient): Promise<Answer> {
    const find = (holders: readonly Holder[]) => holders.find((each) => each.id === id);
    const held = await store.change(group, ({ holders }) => ({ holders, result: find(holders) }));
    // Who holds nothing gives nothing back, and no cordon of a node is his to lift.
    if (held === undefined || held.state === 'Soaking') return { status: 200 };
    // First the cordon, then the slot: a crash between the two leaves a slot that is asked back again.
    if (held.node !== undefined) await options.uncordon(held.node);
    const now = rfc3339(clock.now());
    await store.change(group, (slots) => ({
      holders: slots.minReadyMs > 0 ? soak(slots, id, now) : unlock(slots, id),
      result: true,
    }));
    const who = held.node ?? id;
    const moved = held.bootID !== undefined && bootID !== undefined && held.address !== address;
    const from = moved
      ? `, from ${address} instead of ${held.address}: where two hosts share this id, look`
      : '';
    tidings(group, {
      type: moved ? 'Warning' : 'Normal',
      reason: 'SlotReturned',
      message: `${who} is back at ${now}; it had its slot since ${held.since}${from}`,
    });
    return { status: 200 };
  }

  async function answer(request: IncomingMessage, call: string | undefined): Promise<Answer> {
    if (call !== '/v1/pre-reboot' && call !== '/v1/steady-state')
      return { status: 404, kind: 'not_found', value: 'no such call' };
    if (request.method !== 'POST')
      return { status: 405, kind: 'method_not_allowed', value: 'only POST is answered' };
    if (request.headers['fleet-lock-protocol'] !== 'true') {
      return invalid('the header fleet-lock-protocol: true is missing');
    }
    const refused = await gatekeeper(request);
    if (refused !== undefined) return { status: 401, kind: 'unauthorized', value: refused };
    const identity = identityOf(await readBody(request, bodyBytesMax));
    if (typeof identity === 'string') return invalid(identity);
    const { id, group } = identity;
    const client = { id, ...bootOf(request), address: plainAddress(request.socket.remoteAddress ?? '') };
    const given =
      call === '/v1/pre-reboot' ? await preReboot(group, client) : await steadyState(group, client);
    logger.debug({ call, id, group, status: given.status, kind: given.kind }, 'fleet lock');
    return given;
  }

  return async (request, response) => {
    const call = request.url?.split('?')[0];
    let given: Answer;
    try {
      given = await answer(request, call);
    } catch (error) {
      if (isSluiceError(error, 'InputTooLarge')) given = invalid(error.message);
      else given = { status: 500, kind: 'internal_error', value: messageOf(error) };
    }
    metrics.answered(
      call === '/v1/pre-reboot' || call === '/v1/steady-state' ? call.slice(4) : 'other',
      given,
    );
    const body = given.kind === undefined ? '{}' : JSON.stringify({ kind: given.kind, value: given.value });
    response.writeHead(given.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(given.retryAfterS === undefined ? {} : { 'retry-after': String(given.retryAfterS) }),
    });
    response.end(body);
  };
}

/** Our own agents tell their boot beside the protocol, so that two hosts with one id are told apart. */
function bootOf(request: IncomingMessage): { bootID?: string } {
  const bootID = request.headers[bootHeader];
  return typeof bootID === 'string' && /^[\w-]{1,64}$/.test(bootID) ? { bootID } : {};
}

function invalid(value: string): Answer {
  return { status: 400, kind: 'invalid_client_identity', value };
}

function identityOf(body: Buffer): { id: string; group: string } | string {
  let value: unknown;
  try {
    value = parseStrictJson(body, 'the body');
  } catch (error) {
    return messageOf(error);
  }
  const params = (value as { client_params?: { id?: unknown; group?: unknown } } | null)?.client_params;
  if (typeof params?.id !== 'string' || params.id === '' || params.id.length > idLengthMax)
    return 'client_params.id is missing';
  if (typeof params.group !== 'string' || !groupForm.test(params.group))
    return 'client_params.group is missing or not well formed';
  return { id: params.id, group: params.group };
}
