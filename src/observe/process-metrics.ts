import { readdirSync, readFileSync } from 'node:fs';
import type { Metrics } from './metrics.ts';

/**
 * What every process of ours tells of itself, by the names that Prometheus' own clients use, and which build it is.
 * Reads /proc: what is not there is left out.
 */
export function observeProcess(metrics: Metrics, build: { version: string; commit: string }): void {
  const info = metrics.gauge('sluice_build_info', 'The version of the program; always 1.', [
    'version',
    'commit',
  ]);
  info.set(build, 1);
  const started = metrics.gauge(
    'process_start_time_seconds',
    'Start of the process, seconds since the epoch.',
  );
  started.set({}, Date.now() / 1000 - process.uptime());
  const cpu = metrics.counter('process_cpu_seconds_total', 'Processor time of the process, user and system.');
  const resident = metrics.gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM.');
  const open = metrics.gauge('process_open_fds', 'Open file descriptors.');
  const limit = metrics.gauge('process_max_fds', 'File descriptors that may be open at once.');
  const heap = metrics.gauge('nodejs_heap_size_used_bytes', 'Memory in use of the JavaScript heap.');
  let counted = 0;
  metrics.beforeRender(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    cpu.add({}, seconds - counted);
    counted = seconds;
    const { rss, heapUsed } = process.memoryUsage();
    resident.set({}, rss);
    heap.set({}, heapUsed);
    open.set({}, readdirSync('/proc/self/fd').length);
    const most = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    if (most !== undefined) limit.set({}, Number(most));
  });
}
