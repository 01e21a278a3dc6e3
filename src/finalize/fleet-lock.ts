import { messageOf } from '../errors/error.ts';
import type { HttpClient } from '../http/client.ts';
import { bootHeader } from '../lock/identity.ts';
import { readSecretFile } from '../lock/secret.ts';

/** The answer to a request for the slot, as the agent acts on it. */
export type LockAnswer =
  | { readonly kind: 'granted' }
  /** Somebody else's turn, or the server drains this node: asking again later is all there is to do. */
  | {
      readonly kind: 'wait';
      readonly reason: string;
      readonly message: string;
      /** Milliseconds after which the server would be asked again, where it says so. */
      readonly retryAfterMs?: number;
    }
  | { readonly kind: 'error'; readonly reason: string; readonly message: string };

/** Bytes of an answer that are read; it is a few words. */
const answerBytesMax = 64 * 1024;
/** Milliseconds for the whole exchange: a server that drips must not hold the agent. */
export const lockTimeoutMs = 30_000;
const headerName = 'fleet-lock-protocol';

export interface LockRequest {
  readonly baseUrl: string;
  readonly id: string;
  readonly group: string;
  /** The file that holds what the server asks for, where it asks. */
  readonly secretFile?: string;
}

/** Whom the client tells what it did. */
interface Counter {
  count(what: 'lockRequests' | 'lockErrors'): void;
}

/**
 * The client of the FleetLock protocol, strict: only an answer of exactly 200 is a grant, redirects are errors
 * (they are never followed), everything is bounded.
 */
export function createFleetLockClient(
  http: HttpClient,
  metrics?: Counter,
  options: {
    readonly timeoutMs?: number;
    readonly bootID?: string;
    /** Ends what is asked: what was granted meanwhile is recorded before it is asked for, and is given back later. */
    readonly signal?: AbortSignal;
  } = {},
): {
  preReboot(request: LockRequest): Promise<LockAnswer>;
  steadyState(request: LockRequest): Promise<LockAnswer>;
} {
  const { timeoutMs = lockTimeoutMs, bootID, signal } = options;
  async function post(request: LockRequest, call: 'pre-reboot' | 'steady-state'): Promise<LockAnswer> {
    metrics?.count('lockRequests');
    const answer = await ask(request, call);
    if (answer.kind === 'error') metrics?.count('lockErrors');
    return answer;
  }
  async function ask(request: LockRequest, call: 'pre-reboot' | 'steady-state'): Promise<LockAnswer> {
    let secret: string | undefined;
    try {
      if (request.secretFile !== undefined) secret = await readSecretFile(request.secretFile);
    } catch (error) {
      return { kind: 'error', reason: 'NoSecret', message: messageOf(error) };
    }
    try {
      const response = await http.request({
        method: 'POST',
        url: lockUrl(request.baseUrl, call),
        headers: {
          [headerName]: 'true',
          'content-type': 'application/json',
          ...(bootID === undefined ? {} : { [bootHeader]: bootID }),
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        },
        body: JSON.stringify({ client_params: { id: request.id, group: request.group } }),
        headersTimeoutMs: timeoutMs,
        stallTimeoutMs: timeoutMs,
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
      });
      const judged = judge(response.status, await response.text(answerBytesMax), call);
      const retryAfterMs = retryAfterOf(response.headers['retry-after']);
      return judged.kind === 'wait' && retryAfterMs !== undefined ? { ...judged, retryAfterMs } : judged;
    } catch (error) {
      return {
        kind: 'error',
        reason: 'Unreachable',
        message: `the lock server cannot be asked: ${messageOf(error)}`,
      };
    }
  }
  return {
    preReboot: (request) => post(request, 'pre-reboot'),
    steadyState: (request) => post(request, 'steady-state'),
  };
}

/** The address of a call below the base, which is kept whole whether or not it ends with a slash. */
export function lockUrl(baseUrl: string, call: string): string {
  return `${baseUrl.replace(/\/+$/, '')}/v1/${call}`;
}

/** A server may ask for more patience than this, and not get it: a slot that is free is then lost on nobody. */
const retryAfterMsMax = 60_000;

/** Retry-After in seconds (RFC 9110), as milliseconds; a date, a fraction or anything else is not followed. Pure. */
export function retryAfterOf(header: string | readonly string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !/^\d{1,9}$/.test(header)) return undefined;
  return Math.min(retryAfterMsMax, Math.max(1, Number(header)) * 1000);
}

/** What an answer means. Pure. */
export function judge(status: number, body: string, call: 'pre-reboot' | 'steady-state'): LockAnswer {
  if (status === 200) return { kind: 'granted' };
  const said = errorBody(body);
  // A server that refuses an unlock because another node holds the slot; it is not ours to wait for.
  if (call === 'steady-state' && status === 423) return { kind: 'granted' };
  const full =
    status === 423 || status === 409 || status === 429 || said?.kind === 'failed_lock_semaphore_full';
  if (full || (said?.kind === 'failed_lock' && /all \d+ semaphore slots/.test(said.value))) {
    const reasons: Record<string, string> = {
      draining: 'Draining',
      previous_holder_unhealthy: 'HolderUnhealthy',
      duplicate_id: 'DuplicateId',
    };
    const reason = reasons[said?.kind ?? ''] ?? 'SlotTaken';
    return { kind: 'wait', reason, message: said?.value ?? `the lock server answered ${status}` };
  }
  if (status >= 300 && status < 400) {
    return {
      kind: 'error',
      reason: 'Redirect',
      message: `the lock server answered with a redirect (${status})`,
    };
  }
  if (status >= 200 && status < 300) {
    return { kind: 'error', reason: 'NotAGrant', message: `the answer ${status} is no grant: only 200 is` };
  }
  const why = said === undefined ? '' : `: ${said.kind}: ${said.value}`;
  return { kind: 'error', reason: 'Refused', message: `the lock server answered ${status}${why}` };
}

function errorBody(body: string): { kind: string; value: string } | undefined {
  try {
    const { kind, value } = JSON.parse(body) as { kind?: unknown; value?: unknown };
    if (typeof kind !== 'string' || kind === '' || typeof value !== 'string') return undefined;
    return { kind: kind.slice(0, 64), value: value.slice(0, 512) };
  } catch {
    return undefined;
  }
}
