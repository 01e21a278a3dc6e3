import type { TestContext } from 'node:test';
import { serveGraph } from './graph.ts';
import { type BootedHost, bootHost, type HostOptions, until } from './host.ts';

export const v1 = ['1'.repeat(64), '41.1'] as const;
export const v2 = ['2'.repeat(64), '41.2'] as const;
export const v3 = ['3'.repeat(64), '41.3'] as const;
const versions = Object.fromEntries([v1, v2, v3]);
export const marker = '/var/lib/sluice/allowfinalize.json';
/** Unix seconds from now. */
export const seconds = (more: number) => Math.floor(Date.now() / 1000) + more;

interface Seen {
  readonly state?: string;
  readonly holds?: readonly { gate: string; reason: string }[];
  readonly nextPossible?: string;
}

export function seen(host: BootedHost): Seen {
  return JSON.parse(host.inside(['/usr/bin/sluice', 'node', 'status', '--json']))[0] as Seen;
}

export async function untilHeldBy(host: BootedHost, ...wanted: string[]): Promise<void> {
  let last = '';
  await until(
    () => {
      last = (seen(host).holds ?? []).map(({ gate, reason }) => `${gate}/${reason}`).join(' ');
      return last === wanted.join(' ');
    },
    () =>
      `held by '${last}', not by '${wanted.join(' ')}': ${host.inside(['journalctl', '-u', 'sluice-agent', '-n', '20', '--no-pager'], { check: false })}`,
  );
}

/** A program holds a shutdown off, as the unit `lock-MODE`, until that is stopped. */
export function inhibit(host: BootedHost, mode: 'block' | 'delay'): void {
  const lock = ['systemd-inhibit', '--what=shutdown', `--mode=${mode}`, '--who=dnf', '--why=upgrade'];
  host.inside(['systemd-run', '-q', `--unit=lock-${mode}`, ...lock, 'sleep', '600']);
}

/** The program that holds a shutdown off by a block ends. */
export function release(host: BootedHost): void {
  host.inside(['systemctl', 'stop', 'lock-block'], { check: false });
}

/** A host that learns of its updates from a graph, whose first update is there at once. */
export async function standalone(
  t: TestContext,
  config: string,
  more: Pick<HostOptions, 'service' | 'origin'> = {},
) {
  const graph = await serveGraph();
  t.after(() => graph.close());
  graph.set([v1, v2]);
  const host = await bootHost(t, {
    booted: v1,
    versions,
    ...more,
    config: `[agent.timing]\nsteady_interval_secs = 2\n[cincinnati]\nbase_url = "http://GATEWAY:${graph.port}"\nallow_http = true\n${config}`,
  });
  return { host, graph };
}
