import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { names } from '../src/api/names.ts';
import type { ClusterVersion, NodeUpdate, UpdatePreflight } from '../src/api/resources.ts';
import { askForLink } from '../src/console/link.ts';
import { SluiceError } from '../src/errors/error.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { run } from '../src/process/run.ts';
import { shellWord } from '../src/process/shell.ts';
import type { UpLayout } from '../src/up/layout.ts';
import { readState, type UpState } from '../src/up/state.ts';
import { buildReleases, from, keysOf, mediaOf, to } from './build.ts';
import {
  commandLine,
  createShell,
  historyLine,
  root,
  type Shell,
  shown,
  shownProgram,
  stopCommand,
  type Teller,
} from './stage.ts';

const arch = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
const bundle = (version: string) => `ocp-release-bundle-${version}-${arch}`;

/** The last line of `./quickstart --json` (design, Quickstart). */
export interface Summary {
  readonly from: string;
  readonly to: string;
  readonly nodes: number;
  readonly state: string;
  readonly refusedBy: readonly string[];
  readonly bytesCopied: number;
  readonly osDriver: string;
  readonly containers: string;
  readonly notIsolated: readonly string[];
  readonly kubeconfig: string;
  readonly registries: readonly string[];
  readonly caFile: string;
  readonly authFile: string;
}

export interface DemoOptions {
  readonly directory: string;
  readonly layout: UpLayout;
  readonly teller: Teller;
  readonly runner: string;
  /** Sluice: the checkout's own, or a single file. */
  readonly program: string;
  readonly keep: boolean;
  /** Whether it ends where every node is staged and held, for a person to go on. */
  readonly held: boolean;
  readonly signal: AbortSignal;
  /** Told of the cluster's process as soon as it is there. */
  readonly onStarted: (child: ChildProcess) => void;
  /** Facts of the summary as they become known, so that a failure still tells how far it came. */
  readonly tell: (facts: Partial<Summary>) => void;
}

/** What the story needs wherever it is told: a cluster that is reached by the shell's commands. */
export interface Demo
  extends Pick<DemoOptions, 'directory' | 'teller' | 'signal' | 'tell'>,
    Partial<Pick<DemoOptions, 'held'>> {
  readonly shell: Shell;
}

type WholeDemo = Demo & DemoOptions;

/** The whole way once: two releases are built, a cluster is started at one and updated to the other. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { directory, layout, teller, tell } = options;
  // Where the cluster ends in the midst of it, the story ends too, and says so.
  const broken = new AbortController();
  const signal = AbortSignal.any([options.signal, broken.signal]);
  const shell = createShell(teller, options.program, signal, () => ({ KUBECONFIG: layout.kubeconfig }));
  const demo: WholeDemo = { ...options, signal, shell };
  tell({ from, to, state: 'Building' });
  await buildReleases(directory, shell, teller);
  const { state, ended } = await startCluster(demo);
  const end = ended.then((how) => broken.abort(clusterEnded(how)));
  const client = createKubeClient({
    ...loadKubeconfig(layout.kubeconfig),
    platform: 'standalone',
    userAgent: 'quickstart',
  });
  const kubectl = await hasKubectl();
  try {
    if (demo.keep) await sayConsole(demo, state, 'watch it in the web console');
    await tellStory(demo, client, kubectl);
    await summarize(demo, client, state, kubectl);
  } catch (error) {
    // A cluster that ends stops answering before its process is gone.
    await Promise.race([end, systemClock.sleep(endingMs, options.signal)]);
    signal.throwIfAborted();
    throw error;
  } finally {
    await client.close();
  }
}

/** Milliseconds in which a cluster that has begun to end is seen to have ended. */
const endingMs = 5_000;

function clusterEnded(how: string): SluiceError {
  return new SluiceError('CommandFailed', `the cluster has ended in the midst of it: ${how}`, {
    next: 'See below what it said last; then run it again',
  });
}

/** The last lines of the cluster's own log, each indented; '' where there are none. */
export async function lastWords(directory: string): Promise<string> {
  const told = await readFile(logOf(directory), 'utf8').catch(() => '');
  const lines = told
    .trim()
    .split('\n')
    .filter((line) => line !== '');
  return lines
    .slice(-lastLines)
    .map((line) => `    ${line.slice(0, lineMax)}`)
    .join('\n');
}

const lastLines = 12;
const lineMax = 500;

/** What `sluice up` says. */
function logOf(directory: string): string {
  return join(directory, 'up.log');
}

/** From a cluster at the first release to one at the second. */
export async function tellStory(demo: Demo, client: KubeClient, kubectl: boolean): Promise<void> {
  await attach(demo);
  demo.tell({ refusedBy: await refuse(demo, client) });
  await mend(demo, client, kubectl);
  await copy(demo, client);
  await update(demo, client);
  if (demo.held !== true) await cleanReleases(demo);
}

/** `ended` tells how the cluster's process has ended: by which signal, or with which exit code. */
async function startCluster(
  demo: WholeDemo,
): Promise<{ readonly state: UpState; readonly ended: Promise<string> }> {
  const { teller, layout, signal } = demo;
  teller.heading(`A cluster of three nodes, installed with ${from}`);
  const words = [
    ...['up', '--dir', layout.dir, '--release', mediaOf(demo.directory, from)],
    ...['--key', join(keysOf(demo.directory), 'sluice.pub'), '--workload', demo.runner],
  ];
  teller.say(`${commandLine(shownProgram(demo.program), words)} &`);
  const log = await open(logOf(demo.directory), 'a');
  // A session of its own: it must outlive this process where it is kept, and Ctrl-C is for us to pass on.
  const child = spawn(demo.program, words, { detached: true, stdio: ['ignore', log.fd, log.fd] });
  demo.onStarted(child);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, by) => resolve(by ?? `exit code ${code}`));
  });
  child.unref();
  await log.close();
  for (;;) {
    signal.throwIfAborted();
    const state = await readState(layout);
    if (state?.phase === 'ready' && state.pid === child.pid) {
      demo.tell({
        nodes: state.nodes.length,
        state: 'Installed',
        containers: state.workload.runner,
        notIsolated: state.workload.notIsolated,
      });
      teller.say(`three nodes at ${from}; their containers run with ${state.workload.runner}`);
      if (state.workload.notIsolated.length > 0) {
        teller.say(`not isolated from this machine: ${state.workload.notIsolated.join(', ')}`);
      }
      return { state, ended };
    }
    if (child.exitCode !== null || child.signalCode !== null) throw await upFailure(demo);
    await systemClock.sleep(100, signal);
  }
}

async function upFailure(demo: WholeDemo): Promise<Error> {
  const told = await readFile(logOf(demo.directory), 'utf8');
  const [, message = told.trim(), next] = /^error: (.*)\n(?: {2}next: (.*))?/m.exec(told) ?? [];
  const code = message.startsWith('no container can run here') ? 'CannotIsolate' : 'CommandFailed';
  return new SluiceError(code, `the cluster did not start: ${message}`, next === undefined ? {} : { next });
}

async function attach(demo: Demo): Promise<void> {
  const { teller, shell } = demo;
  teller.heading(`The disk with ${to} is attached to one node`);
  await shell.sluice(['media', 'attach', mediaOf(demo.directory, to), '--node', 'master-0']);
  await shell.sluice(['release', 'ls']);
}

/** Returns the names of the findings that refused the update. */
async function refuse(demo: Demo, client: KubeClient): Promise<string[]> {
  const { teller, shell } = demo;
  teller.heading(`Would the update work? The checks of ${to} run now, before anything is copied`);
  await shell.sluice(['upgrade', '--to', to, '--dry-run'], { expect: [3] });
  const preflight = await latestPreflight(client);
  const blocking = (preflight.status?.checks ?? []).filter(({ result, severity, accepted }) => {
    return severity === 'blocking' && accepted !== true && (result === 'Risk' || result === 'Error');
  });
  if (blocking.length === 0)
    throw new SluiceError('Internal', 'the update was refused, but no check says why');
  return blocking.map(({ name }) => name).sort();
}

async function latestPreflight(client: KubeClient): Promise<UpdatePreflight> {
  const { items } = await client.list<UpdatePreflight>(client.kinds.UpdatePreflight);
  const [latest] = items.sort((a, b) =>
    (a.status?.finishedAt ?? '') < (b.status?.finishedAt ?? '') ? 1 : -1,
  );
  if (latest === undefined) throw new SluiceError('NotFound', 'there is no UpdatePreflight');
  return latest;
}

async function mend(demo: Demo, client: KubeClient, kubectl: boolean): Promise<void> {
  const { teller, shell } = demo;
  teller.heading('The administrator mends what the check found, and asks again');
  const patch = { data: { evictionPolicy: 'lru' } };
  const words = [
    '-n',
    'demo-cache',
    'patch',
    'configmap',
    'cache-settings',
    '--type',
    'merge',
    '-p',
    JSON.stringify(patch),
  ];
  if (kubectl) await shell.kubectl(words);
  else {
    await client.patch(client.kinds.ConfigMap, 'cache-settings', patch, { namespace: 'demo-cache' });
    teller.say('ConfigMap demo-cache/cache-settings: evictionPolicy is lru now');
  }
  await shell.sluice(['preflight', 'run', '--to', to]);
}

async function copy(demo: Demo, client: KubeClient): Promise<void> {
  const { teller, shell } = demo;
  teller.heading(`${to} is copied to all three nodes`);
  await shell.sluice(['release', 'add', to]);
  const updates = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
  const bytesCopied = updates.items
    .flatMap((node) => node.status?.store ?? [])
    .filter((each) => each.name === bundle(to))
    .reduce((sum, each) => sum + (each.bytesWritten ?? 0), 0);
  demo.tell({ bytesCopied, state: 'Available' });
  await shell.sluice(['media', 'detach', mediaOf(demo.directory, to), '--node', 'master-0']);
}

const updateMs = 120_000;

async function update(demo: Demo, client: KubeClient): Promise<void> {
  const { teller, shell, signal } = demo;
  teller.heading(`The update to ${to}`);
  await shell.sluice(['upgrade', '--to', to, '--no-wait']);
  // Those that keep content are the control plane; the turn of a worker comes after it.
  await following(demo, client, 'each node to be staged and held', (nodes) =>
    nodes
      .filter(({ status }) => status?.store !== undefined)
      .every(({ status }) => (status?.holds?.length ?? 0) > 0 && status?.staged?.version === to),
  );
  teller.heading('Every node is staged, and held: why?');
  await shell.sluice(['node', 'why']);
  if (demo.held === true) return demo.tell({ state: 'Held' });
  teller.heading('The window is opened; the nodes reboot, one at a time');
  await shell.sluice(['window', 'open', '--until', '1h', '--nodes', 'all']);
  await following(demo, client, 'every node to boot into it', (nodes) =>
    nodes.every(({ status }) => status?.booted?.version === to && (status.holds?.length ?? 0) === 0),
  );
  const { clusterVersion } = names(client.platform);
  const done = await waitFor(
    client,
    client.kinds.ClusterVersion,
    clusterVersion,
    (version) => completed(version) === to,
    { timeoutMs: updateMs, signal },
  );
  const drivers = new Set(
    (await client.list<NodeUpdate>(client.kinds.NodeUpdate)).items.map(({ status }) => status?.driver),
  );
  demo.tell({ state: done?.status?.history?.[0]?.state ?? 'Unknown', osDriver: [...drivers].join(',') });
  await shell.sluice(['upgrade', 'status']);
}

function completed(version: ClusterVersion | undefined): string | undefined {
  const [newest] = version?.status?.history ?? [];
  return newest?.state === 'Completed' ? newest.version : undefined;
}

/** Shows every change of the nodes and of what the update says, until `enough`. */
async function following(
  demo: Demo,
  client: KubeClient,
  what: string,
  enough: (nodes: readonly NodeUpdate[]) => boolean,
): Promise<void> {
  const end = Date.now() + updateMs;
  const shown = new Map<string, string>();
  const show = (label: string, text: string) => {
    const short = text.replaceAll(`${root}/`, '');
    if (shown.get(label) === short) return;
    shown.set(label, short);
    demo.teller.say(`${label.padEnd(9)} ${short}`);
  };
  for (;;) {
    demo.signal.throwIfAborted();
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    const version = await client.get<ClusterVersion>(
      client.kinds.ClusterVersion,
      names(client.platform).clusterVersion,
    );
    const progressing = version.status?.conditions?.find(({ type }) => type === 'Progressing');
    // What it waits for is told by the nodes themselves, a line below.
    show('update', (progressing?.message ?? '').replace(/, waiting on node .*/, ''));
    for (const { metadata, status } of items) {
      const boot = status?.bootID?.slice(0, 8) ?? '';
      const hold = status?.holds?.[0];
      const at = `${status?.booted?.version ?? '?'} (boot ${boot}, ${status?.driver ?? 'no'} driver)`;
      show(
        metadata.name,
        `${at} ${status?.state ?? ''}${hold === undefined ? '' : `: ${hold.gate}: ${hold.message}`}`,
      );
    }
    if (enough(items)) return;
    if (Date.now() > end) throw new SluiceError('Timeout', `waited ${updateMs / 1000} s for ${what}`);
    await systemClock.sleep(200, demo.signal);
  }
}

async function cleanReleases(demo: Demo): Promise<void> {
  const { teller, shell } = demo;
  teller.heading('What is in use cannot be removed; what is not, frees its bytes');
  await shell.sluice(['release', 'rm', to], { expect: [3] });
  await shell.sluice(['release', 'rm', from]);
  await shell.sluice(['release', 'ls']);
}

async function summarize(
  demo: WholeDemo,
  client: KubeClient,
  state: UpState,
  kubectl: boolean,
): Promise<void> {
  const { teller } = demo;
  const registries = state.nodes.map(({ registry }) => registry);
  demo.tell({ kubeconfig: state.kubeconfig, registries, caFile: state.caFile, authFile: state.authFile });
  teller.heading(
    demo.held ? `Held: ${from} → ${to}, every node waits for its window` : `Completed: ${from} → ${to}`,
  );
  const version = await client.get<ClusterVersion>(
    client.kinds.ClusterVersion,
    names(client.platform).clusterVersion,
  );
  for (const entry of version.status?.history ?? []) {
    teller.say(historyLine(entry));
  }
  if (!demo.keep) {
    teller.say('ended and removed; to look around instead: ./quickstart --keep');
    return;
  }
  teller.say('It is still running. Look around:');
  await sayConsole(demo, state, 'the web console');
  if (demo.held) teller.say('  open the window there, or: ./sluice window open --until 1h --all');
  teller.say(`  export KUBECONFIG=${shellWord(state.kubeconfig)}`);
  if (kubectl) {
    teller.say(
      '  kubectl get clusterversion,internalreleaseimage,machineconfignode,updatepreflight,nodeupdate -A',
    );
    teller.say('  kubectl describe clusterversion version');
  }
  teller.say('  ./sluice release ls; ./sluice upgrade status; ./sluice node why; ./sluice preflight ls');
  teller.say(`  registries ${registries.join(', ')}; CA ${state.caFile}; credentials ${state.authFile}`);
  teller.say(`  ${stopCommand(demo.directory)} ends it`);
}

async function sayConsole(demo: WholeDemo, state: UpState, what: string): Promise<void> {
  if (state.consoleUrl === undefined) return;
  const { link } = await askForLink(demo.layout.consoleSocket);
  demo.teller.say(`  ${link}`);
  const another = `./sluice console link --dir ${shellWord(shown(demo.layout.dir))}`;
  demo.teller.say(`  (${what}; the link is good for one login, another: ${another})`);
}

async function hasKubectl(): Promise<boolean> {
  try {
    return (await run('kubectl', ['version', '--client'], { timeoutMs: 10_000 })).code === 0;
  } catch {
    return false; // Not installed.
  }
}
