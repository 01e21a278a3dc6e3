import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** What the processes of `sluice up` do, by the words of their commands. */
export const roles = ['apiserver', 'controller', 'node run', 'registry serve', 'console'] as const;
export type Role = (typeof roles)[number];

export interface ClusterProcess {
  readonly pid: number;
  readonly role: Role;
  /** Of the node that it works for; absent where it works for all. */
  readonly node?: string;
}

/** Starts `sluice up` with a release and nothing that runs Pods; resolves when its nodes hold the release. */
export async function startCluster(of: {
  readonly program: string;
  readonly dir: string;
  readonly release: string;
  readonly key: string;
  /** Default 3. */
  readonly nodes?: number;
  readonly env?: NodeJS.ProcessEnv;
}): Promise<ChildProcess> {
  const own = ['--dir', of.dir, '--release', of.release, '--key', of.key, '--nodes', String(of.nodes ?? 3)];
  const child = spawn(of.program, ['up', ...own, '--workload', 'none'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: of.env ?? process.env,
  });
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (said.includes('ready: ')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  return child;
}

/** The processes below one, by what they do. */
export function processesBelow(root: number): ClusterProcess[] {
  const parents = new Map<number, number>();
  const commands = new Map<number, string>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      commands.set(Number(name), readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found: ClusterProcess[] = [];
  for (const [pid, command] of commands) {
    let at: number | undefined = pid;
    while (at !== undefined && at !== root) at = parents.get(at);
    const role = roles.find((one) => command.includes(` ${one} `));
    if (at !== root || role === undefined) continue;
    const node = role.includes(' ') ? /master-\d+/.exec(command)?.[0] : undefined;
    found.push({ pid, role, ...(node === undefined ? {} : { node }) });
  }
  return found.sort((a, b) => roles.indexOf(a.role) - roles.indexOf(b.role) || a.pid - b.pid);
}
