import { readdirSync, readFileSync } from 'node:fs';

/** One process as /proc tells it. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  /** Memory of its own, bytes: anonymous and shared, without file pages (proc_pid_status(5)). */
  readonly memoryBytes: number;
}

/** All processes now. Those that end meanwhile are left out. */
export function processes(): Process[] {
  const found: Process[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const read = parseStatus(Number(name), readFileSync(`/proc/${name}/status`, 'utf8'));
      if (read !== undefined) found.push(read);
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** Of the text of /proc/<pid>/status; undefined for one that has ended and waits for its parent. */
export function parseStatus(pid: number, text: string): Process | undefined {
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1];
  if (field('State') === 'Z' || field('State') === 'X') return undefined;
  const kib = Number(field('RssAnon') ?? 0) + Number(field('RssShmem') ?? 0);
  return { pid, parent: Number(field('PPid')), uid: Number(field('Uid')), memoryBytes: kib * 1024 };
}

/** `root` and all that descend from it. */
export function descendants(all: readonly Process[], root: number): Process[] {
  const members = new Set([root]);
  // Children can come before their parents in the list, once pids have wrapped around.
  for (let grown = true; grown; ) {
    grown = false;
    for (const process of all) {
      if (members.has(process.parent) && !members.has(process.pid)) {
        members.add(process.pid);
        grown = true;
      }
    }
  }
  return all.filter((process) => members.has(process.pid));
}

/** When a process started, in ticks since the boot (proc_pid_stat(5), field 22): with the pid it is unique. */
export function startTime(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
