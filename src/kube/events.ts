import { createHash } from 'node:crypto';
import type { Event, KubeObject } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import { messageOf } from '../errors/error.ts';
import { type Clock, rfc3339, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeClient } from './client.ts';
import { isAlreadyExists, isNotFound } from './error.ts';

export interface EventFacts {
  readonly kind: KindRef;
  /** What it is about. */
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, for programs. */
  readonly reason: string;
  readonly message: string;
}

export interface EventRecorder {
  /** Records in the background; an event that cannot be written is logged and lost, it never fails the caller. */
  record(facts: EventFacts): void;
  /** Resolves when what was recorded so far is written or lost. */
  flushed(): Promise<void>;
}

/** The API's own limit of an event's message. */
export const eventMessageMax = 1024;

/** Line feeds become spaces, and what is too long ends in an ellipsis: `kubectl get events` has one line for it. */
export function eventMessage(text: string): string {
  const line = text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
  return line.length <= eventMessageMax ? line : `${line.slice(0, eventMessageMax - 1)}…`;
}

/** The name is a function of what the event says, so that the same words twice are one event counted twice. */
export function eventName(facts: EventFacts, component: string): string {
  const said = [
    facts.object.metadata.uid ?? '',
    facts.type,
    facts.reason,
    eventMessage(facts.message),
    component,
  ].join('\n');
  const hash = createHash('sha256').update(said).digest('hex').slice(0, 16);
  return `${facts.object.metadata.name.slice(0, 200)}.${hash}`;
}

/** Writes one event, or counts it once more where it was written before. Errors: ApiError. */
export async function recordEvent(
  client: Pick<KubeClient, 'kinds' | 'create' | 'tryGet' | 'patch'>,
  facts: EventFacts & { component: string; clock?: Clock },
): Promise<void> {
  const clock = facts.clock ?? systemClock;
  const kind = client.kinds.Event;
  // Events of cluster-scoped objects are in the namespace default, where kubectl looks for them.
  const namespace = facts.object.metadata.namespace ?? 'default';
  const name = eventName(facts, facts.component);
  const now = rfc3339(clock.now());
  const standing = await client.tryGet(kind, name, namespace);
  if (standing !== undefined) {
    const count = (standing.count ?? 1) + 1;
    // A clock that was set back does not make the series end before it began.
    const lastTimestamp = [now, standing.lastTimestamp ?? now].sort().at(-1);
    try {
      await client.patch(kind, name, { count, lastTimestamp }, { namespace });
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error; // It expired between the two calls: write it anew.
    }
  }
  const { object } = facts;
  const event: Omit<Event, 'apiVersion' | 'kind'> = {
    metadata: { name, namespace },
    involvedObject: {
      apiVersion: apiVersionOf(facts.kind),
      kind: facts.kind.kind,
      name: object.metadata.name,
      ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
      ...(object.metadata.resourceVersion === undefined
        ? {}
        : { resourceVersion: object.metadata.resourceVersion }),
    },
    type: facts.type,
    reason: facts.reason,
    message: eventMessage(facts.message),
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component: facts.component },
    reportingComponent: facts.component,
    reportingInstance: '',
  };
  try {
    await client.create(kind, event);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error; // Another replica said the same in this moment.
  }
}

/** A recorder for one component. Events are written one after another, at most `backlogMax` wait. */
export function createEventRecorder(
  client: Pick<KubeClient, 'kinds' | 'create' | 'tryGet' | 'patch'>,
  options: { component: string; logger: Logger; clock?: Clock; backlogMax?: number },
): EventRecorder {
  const backlogMax = options.backlogMax ?? 200;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return {
    record(facts) {
      if (waiting >= backlogMax) {
        options.logger.warn({ reason: facts.reason }, 'event lost: too many wait');
        return;
      }
      waiting += 1;
      last = last.then(async () => {
        try {
          const { component, clock } = options;
          await recordEvent(client, { ...facts, component, ...(clock === undefined ? {} : { clock }) });
        } catch (error) {
          options.logger.warn({ reason: facts.reason, error: messageOf(error) }, 'event lost');
        } finally {
          waiting -= 1;
        }
      });
    },
    flushed: () => last,
  };
}
