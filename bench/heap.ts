import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The environment of processes that are looked into: each opens its inspector at a port of its own when it gets SIGUSR1
 * (Node's own diagnostics; nothing of ours knows of it).
 */
export const inspectable = { ...process.env, NODE_OPTIONS: '--inspect-port=0' };

/** What a process holds once everything that nobody reaches is collected. */
export interface Live {
  /** Objects of the JavaScript heap. */
  readonly heapMiB: number;
  /** Buffers and what native code holds for such objects. */
  readonly externalMiB: number;
}

/** One process that is looked into. */
export interface Inspected {
  /** Collects its whole heap and weighs what is left. */
  live(): Promise<Live>;
  end(): void;
}

const openMsMax = 20_000;

/** Opens the inspector of a process. It stays open until the process ends: closing it has ended processes. */
export async function inspect(pid: number): Promise<Inspected> {
  const before = new Set(listeningPorts(pid));
  process.kill(pid, 'SIGUSR1');
  const end = performance.now() + openMsMax;
  let port: number | undefined;
  while (port === undefined) {
    if (performance.now() > end) throw new Error(`process ${pid} opens no inspector`);
    await sleep(20);
    port = listeningPorts(pid).find((each) => !before.has(each));
  }
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`the inspector of process ${pid} cannot be reached`));
  });
  const open = new Map<number, (said: { result?: unknown; error?: { message: string } }) => void>();
  socket.onmessage = ({ data }) => {
    const said = JSON.parse(String(data)) as { id: number; result?: unknown; error?: { message: string } };
    open.get(said.id)?.(said);
  };
  socket.onclose = () => {
    for (const answered of open.values()) answered({ error: { message: `process ${pid} ended meanwhile` } });
  };
  let last = 0;
  const ask = <T>(method: string, params: object = {}) =>
    new Promise<T>((resolve, reject) => {
      const id = ++last;
      open.set(id, ({ result, error }) => {
        open.delete(id);
        if (error === undefined) resolve(result as T);
        else reject(new Error(`${method}: ${error.message}`));
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  return {
    async live() {
      await ask('HeapProfiler.collectGarbage');
      const { result } = await ask<{ result: { value: string } }>('Runtime.evaluate', {
        expression: 'JSON.stringify(process.memoryUsage())',
        returnByValue: true,
      });
      const { heapUsed, external } = JSON.parse(result.value) as NodeJS.MemoryUsage;
      return { heapMiB: heapUsed / 2 ** 20, externalMiB: external / 2 ** 20 };
    },
    end: () => socket.close(),
  };
}

/** TCP ports of IPv4 that a process listens on. */
function listeningPorts(pid: number): number[] {
  const inodes = new Set<string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // It was closed meanwhile.
    }
  }
  const ports: number[] = [];
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'latin1').split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[3] === '0A' && inodes.has(fields[9] ?? ''))
      ports.push(Number.parseInt((fields[1] ?? ':').split(':')[1] ?? '', 16));
  }
  return ports;
}
