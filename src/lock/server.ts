import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Node } from '../api/core.ts';
import type { FleetLockGroup } from '../api/resources.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { readBody } from '../http/server.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict } from '../kube/error.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { parseStrictJson } from '../oci/json.ts';
import { drainOnce, uncordon } from './drain.ts';
import { lockIdOf } from './identity.ts';
import { advance, groupForm, type Holder, lock, type Slots, unlock } from './slots.ts';

export interface LockServerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An answer of the protocol. `kind` becomes a label of the client's metrics, so their set is small and closed. */
interface Answer {
  readonly status: number;
  readonly kind?:
    | 'invalid_client_identity'
    | 'unknown_group'
    | 'failed_lock_semaphore_full'
    | 'draining'
    | 'method_not_allowed'
    | 'not_found'
    | 'internal_error';
  readonly value?: string;
}

const bodyBytesMax = 16 * 1024;
/** Writers that lose a race look again this often (case B42). */
const conflictRetriesMax = 20;
const drainIntervalMs = 1_000;

/**
 * The FleetLock server. Its state is FleetLockGroup.status, so any replica answers alike and people see the holders
 * by `kubectl get fleetlockgroup`. A slot is reserved at once and granted when the node is drained; meanwhile the
 * answer is 423, which every client of the protocol takes as "ask again".
 */
export function createLockServer(options: LockServerOptions): {
  readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Drains the nodes of reserved slots until the signal aborts: for one replica at a time. */
  run(signal: AbortSignal): Promise<void>;
} {
  const { client, clock, logger } = options;
  const kind = client.kinds.FleetLockGroup;

  /** Changes the holders of a group by a pure function, again from the start where another writer was faster. */
  async function change<T>(
    name: string,
    decide: (slots: Slots) => { holders: readonly Holder[]; result: T },
  ): Promise<T | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const group = await client.tryGet<FleetLockGroup>(kind, name);
      if (group === undefined) return undefined;
      const slots = slotsOf(group);
      const { holders, result } = decide(slots);
      if (holders === slots.holders) return result;
      try {
        await client.updateStatus<FleetLockGroup>(kind, {
          ...group,
          status: { ...group.status, holders: [...holders] },
        });
        return result;
      } catch (error) {
        if (!isConflict(error) || attempt >= conflictRetriesMax) throw error;
      }
    }
  }

  async function preReboot(group: string, id: string): Promise<Answer> {
    const node = await nodeOf(id);
    const now = rfc3339(clock.now());
    const outcome = await change(group, (slots) => {
      const decided = lock(slots, { id, ...(node === undefined ? {} : { node }) }, now);
      return { holders: decided.kind === 'full' ? slots.holders : decided.holders, result: decided };
    });
    switch (outcome?.kind) {
      case undefined:
        return unknownGroup(group);
      case 'full':
        return { status: 423, kind: 'failed_lock_semaphore_full', value: outcome.message };
      case 'draining':
        return { status: 423, kind: 'draining', value: outcome.message };
      case 'granted':
        return { status: 200 };
    }
  }

  async function steadyState(group: string, id: string): Promise<Answer> {
    const node = await nodeOf(id);
    // First the cordon, then the slot: a crash between the two leaves a slot that is asked back again (case B26).
    if (node !== undefined) await uncordon(client, node);
    const known = await change(group, (slots) => ({ holders: unlock(slots, id), result: true }));
    return known === undefined ? unknownGroup(group) : { status: 200 };
  }

  async function nodeOf(id: string): Promise<string | undefined> {
    const { items } = await client.list<Node>(client.kinds.Node);
    return items.find((node) => {
      try {
        return lockIdOf(node.status?.nodeInfo?.machineID ?? '') === id;
      } catch {
        return false;
      }
    })?.metadata.name;
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const call = request.url?.split('?')[0];
    if (call !== '/v1/pre-reboot' && call !== '/v1/steady-state')
      return { status: 404, kind: 'not_found', value: 'no such call' };
    if (request.method !== 'POST')
      return { status: 405, kind: 'method_not_allowed', value: 'only POST is answered' };
    if (request.headers['fleet-lock-protocol'] !== 'true') {
      return invalid('the header fleet-lock-protocol: true is missing');
    }
    const identity = identityOf(await readBody(request, bodyBytesMax));
    if (typeof identity === 'string') return invalid(identity);
    const { id, group } = identity;
    const given = call === '/v1/pre-reboot' ? await preReboot(group, id) : await steadyState(group, id);
    logger.info({ call, id, group, status: given.status, kind: given.kind }, 'fleet lock');
    return given;
  }

  async function drainReserved(): Promise<void> {
    const { items } = await client.list<FleetLockGroup>(kind);
    for (const group of items) {
      const name = group.metadata.name ?? '';
      for (const holder of slotsOf(group).holders) {
        if (holder.state === 'Granted') continue;
        const progress =
          holder.node === undefined ? ({ kind: 'drained' } as const) : await drainOnce(client, holder.node);
        const [state, message] =
          progress.kind === 'drained' ? (['Granted'] as const) : (['Draining', progress.message] as const);
        await change(name, (slots) => ({
          holders: advance(slots.holders, holder.id, state, message),
          result: true,
        }));
      }
    }
  }

  return {
    async handler(request, response) {
      let given: Answer;
      try {
        given = await answer(request);
      } catch (error) {
        if (isSluiceError(error, 'InputTooLarge')) given = invalid(error.message);
        else given = { status: 500, kind: 'internal_error', value: messageOf(error) };
      }
      response.writeHead(given.status, { 'content-type': 'application/json' });
      response.end(
        given.kind === undefined ? '{}' : JSON.stringify({ kind: given.kind, value: given.value }),
      );
    },
    async run(signal) {
      while (!signal.aborted) {
        await drainReserved().catch((error) => {
          if (!signal.aborted) logger.warn({ error: messageOf(error) }, 'draining could not go on');
        });
        await clock.sleep(drainIntervalMs, signal);
      }
    },
  };
}

function slotsOf(group: FleetLockGroup): Slots {
  return { slots: group.spec?.slots ?? 1, holders: (group.status?.holders ?? []) as readonly Holder[] };
}

function invalid(value: string): Answer {
  return { status: 400, kind: 'invalid_client_identity', value };
}

function unknownGroup(group: string): Answer {
  return { status: 404, kind: 'unknown_group', value: `there is no FleetLockGroup '${group}'` };
}

function identityOf(body: Buffer): { id: string; group: string } | string {
  let value: unknown;
  try {
    value = parseStrictJson(body, 'the body');
  } catch (error) {
    return messageOf(error);
  }
  const params = (value as { client_params?: { id?: unknown; group?: unknown } } | null)?.client_params;
  if (typeof params?.id !== 'string' || params.id === '' || params.id.length > 256)
    return 'client_params.id is missing';
  if (typeof params.group !== 'string' || !groupForm.test(params.group))
    return 'client_params.group is missing or not well formed';
  return { id: params.id, group: params.group };
}
