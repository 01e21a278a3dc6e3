import type { IncomingMessage } from 'node:http';
import type { Metrics } from '../observe/metrics.ts';
import type { Handler } from './server.ts';

const secondsBounds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/**
 * Counts what a handler answers: requests by code, how long they took, how many are under way, and bytes sent.
 *
 * @param prefix of the names, `sluice_registry` for instance.
 * @param labelsOf tells what was asked in a small closed set of words; never a path or a name of the client's.
 */
export function countRequests<const L extends string>(
  metrics: Metrics,
  prefix: string,
  labels: readonly L[],
  labelsOf: (request: IncomingMessage) => Readonly<Record<L, string>>,
  next: Handler,
): Handler {
  const total = metrics.counter(`${prefix}_requests_total`, 'Requests that were answered, by HTTP status.', [
    ...labels,
    'code',
  ]);
  const took = metrics.histogram(
    `${prefix}_request_duration_seconds`,
    'Time from the head of a request to the end of its answer.',
    secondsBounds,
    labels,
  );
  const sent = metrics.counter(
    `${prefix}_response_bytes_total`,
    'Bytes of answers that were sent, heads included.',
  );
  const inFlight = metrics.gauge(`${prefix}_requests_in_flight`, 'Requests that are being answered.');
  let working = 0;
  inFlight.set({}, 0);
  return (request, response) => {
    const begunAt = performance.now();
    const { socket } = request;
    const before = socket.bytesWritten ?? 0;
    working += 1;
    inFlight.set({}, working);
    response.once('close', () => {
      working -= 1;
      inFlight.set({}, working);
      const asked = labelsOf(request);
      // A client that went away before it was answered is counted as nginx does.
      const code = response.headersSent ? String(response.statusCode) : '499';
      total.add({ ...asked, code } as Readonly<Record<L | 'code', string>>);
      took.observe(asked, (performance.now() - begunAt) / 1000);
      sent.add({}, Math.max(0, (socket.bytesWritten ?? 0) - before));
    });
    return next(request, response);
  };
}

/** The methods that are told apart; every other one is `other`, since a client may send any word. */
export function methodLabel(request: IncomingMessage): string {
  const { method = '' } = request;
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? method : 'other';
}
