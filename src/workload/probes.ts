import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Container } from '../api/core.ts';
import { request as plainRequest } from '../http/runtime.ts';
import type { Clock } from '../observe/clock.ts';
import type { Runner } from './runner.ts';

/** core/v1 Probe, as far as it is done here. */
export interface Probe {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: {
    readonly path?: string;
    readonly port: number | string;
    readonly host?: string;
    readonly scheme?: string;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

export interface ProbeOutcome {
  readonly success: boolean;
  /** What went wrong, for the event. */
  readonly output: string;
}

/** Probes the containers that run, and remembers what they said. */
export interface Prober {
  /** Begins to probe a running container; a second call is ignored. */
  watch(id: string, container: Container, startedAt: number): void;
  /** Whether it may be called ready: it has started, and its readiness probe, if any, succeeds. */
  isReady(id: string): boolean;
  /** Whether its liveness or startup probe has failed for good. */
  isUnhealthy(id: string): boolean;
  forget(id: string): void;
}

export interface ProberOptions {
  readonly runner: Pick<Runner, 'exec'>;
  readonly nodeAddress: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onChange: (id: string) => void;
  readonly event: (id: string, message: string) => void;
}

type Role = 'startup' | 'readiness' | 'liveness';

interface Watched {
  readonly stop: AbortController;
  readonly results: Map<Role, boolean>;
}

const periodDefaultSeconds = 10;
const timeoutDefaultSeconds = 1;
const failuresDefault = 3;
const outputCharactersMax = 256;

export function createProber(options: ProberOptions): Prober {
  const { clock } = options;
  const watched = new Map<string, Watched>();

  async function follow(id: string, role: Role, probe: Probe, container: Container, startedAt: number) {
    const one = watched.get(id);
    if (one === undefined) return;
    const signal = AbortSignal.any([options.signal, one.stop.signal]);
    const periodMs = 1000 * (probe.periodSeconds ?? periodDefaultSeconds);
    const delayMs = 1000 * (probe.initialDelaySeconds ?? 0);
    // Where it would be longer than that the clock was set back since the container started.
    await clock.sleep(Math.min(delayMs, Math.max(0, startedAt + delayMs - clock.now())), signal);
    let run = 0;
    while (!signal.aborted) {
      // Liveness and readiness begin when the container has started.
      if (role === 'startup' || one.results.get('startup') !== false) {
        const { success, output } = await runProbe(probe, container, id, options);
        if (signal.aborted) return;
        const before = one.results.get(role);
        run = success === before ? 0 : run + 1;
        const needed = success ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? failuresDefault);
        if (!success) options.event(id, `${title(role)} probe failed: ${output}`);
        if (success !== before && run >= needed) {
          run = 0;
          one.results.set(role, success);
          options.onChange(id);
        }
        if (role === 'startup' && success) return;
      }
      await clock.sleep(periodMs, signal);
    }
  }

  return {
    watch(id, container, startedAt) {
      if (watched.has(id)) return;
      const probes = (['startup', 'readiness', 'liveness'] as const).flatMap((role) => {
        const probe = container[`${role}Probe`] as Probe | undefined;
        return probe === undefined || probe === null ? [] : [{ role, probe }];
      });
      // Until it has spoken, a container is not ready, not started, and not unhealthy.
      const results = new Map<Role, boolean>(probes.map(({ role }) => [role, role === 'liveness']));
      watched.set(id, {
        stop: new AbortController(),
        results,
      });
      for (const { role, probe } of probes) void follow(id, role, probe, container, startedAt);
    },
    isReady(id) {
      const one = watched.get(id);
      return one === undefined
        ? false
        : one.results.get('startup') !== false && one.results.get('readiness') !== false;
    },
    isUnhealthy: (id) => watched.get(id)?.results.get('liveness') === false,
    forget(id) {
      watched.get(id)?.stop.abort();
      watched.delete(id);
    },
  };
}

function title(role: Role): string {
  return `${role[0]?.toUpperCase()}${role.slice(1)}`;
}

async function runProbe(
  probe: Probe,
  container: Container,
  id: string,
  options: ProberOptions,
): Promise<ProbeOutcome> {
  const timeoutMs = 1000 * (probe.timeoutSeconds ?? timeoutDefaultSeconds);
  if (probe.exec !== undefined) {
    const { code, output } = await options.runner
      .exec(id, probe.exec.command ?? [], timeoutMs)
      .catch((error: Error) => ({ code: 1, output: error.message }));
    if (code === null) return { success: false, output: `command timed out after ${timeoutMs / 1000}s` };
    return { success: code === 0, output: output.slice(0, outputCharactersMax) };
  }
  const target = probe.httpGet ?? probe.tcpSocket;
  if (target === undefined) return { success: true, output: '' };
  const port = portOf(target.port, container);
  if (port === undefined) return { success: false, output: `couldn't find port: ${target.port}` };
  const host = target.host === undefined || target.host === '' ? options.nodeAddress : target.host;
  return probe.httpGet === undefined
    ? await probeTcp(host, port, timeoutMs)
    : await probeHttp(host, port, probe.httpGet, timeoutMs);
}

function portOf(port: number | string, container: Container): number | undefined {
  if (typeof port === 'number') return port;
  return container.ports?.find(({ name }) => name === port)?.containerPort ?? (Number(port) || undefined);
}

async function probeTcp(host: string, port: number, timeoutMs: number): Promise<ProbeOutcome> {
  return await new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const done = (success: boolean, output: string) => {
      socket.destroy();
      resolve({ success, output });
    };
    socket.once('connect', () => done(true, ''));
    socket.once('timeout', () => done(false, `dial tcp ${host}:${port}: i/o timeout`));
    socket.once('error', (error) => done(false, error.message));
  });
}

/** A status from 200 to 399 is a success; the certificate is not verified (core/v1 HTTPGetAction). */
async function probeHttp(
  host: string,
  port: number,
  action: NonNullable<Probe['httpGet']>,
  timeoutMs: number,
): Promise<ProbeOutcome> {
  const secure = action.scheme === 'HTTPS';
  const path = action.path === undefined || action.path === '' ? '/' : action.path;
  const headers = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value]));
  return await new Promise((resolve) => {
    const request = (secure ? tlsRequest : plainRequest)(
      { host, port, path, headers, agent: false, timeout: timeoutMs, rejectUnauthorized: false },
      (response) => {
        const status = response.statusCode ?? 0;
        response.destroy();
        const success = status >= 200 && status < 400;
        resolve({ success, output: success ? '' : `HTTP probe failed with statuscode: ${status}` });
      },
    );
    request.once('timeout', () => {
      request.destroy();
      resolve({ success: false, output: `Get "${path}": no answer within ${timeoutMs / 1000}s` });
    });
    request.once('error', (error) => resolve({ success: false, output: error.message }));
    request.end();
  });
}
