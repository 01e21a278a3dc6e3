import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fsyncFile, writeDurable } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { run } from '../process/run.ts';
import { type Label, labelOf } from './label.ts';

/** What is put on a host of a cluster, and where; the same on every start, so that nothing changes where nothing did. */
export interface HostFacts {
  /**
   * `kubernetes`: the agent stages and reboots too, containerd pulls. `openshift`: the machine-config operator stages and
   * reboots, so that the agent does neither, and CRI-O pulls.
   */
  readonly platform: 'kubernetes' | 'openshift';
  /** A worker keeps no content: it gets the agent alone, without a registry. */
  readonly worker: boolean;
  readonly nodeName: string;
  /** InternalIP, by which other nodes reach its registry. */
  readonly address: string;
  /** Names this build of the program: versions lie beside each other. */
  readonly programId: string;
  /** Of the API server. */
  readonly server: string;
  readonly caPem: string;
  /** A token of the ServiceAccount sluice-node that was given to this node. */
  readonly token: string;
  /** Of the node's registry, which is its client certificate too; on a worker a client's alone. */
  readonly registry: { readonly caPem: string; readonly certPem: string; readonly keyPem: string };
  /** Where reboot slots are asked for, and what is shown there; absent: the host's own configuration says. */
  readonly lock?: { readonly url: string; readonly secret?: string };
}

export interface HostFile {
  /** Absolute, below the root of the host. */
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** There where systemd runs. */
const systemdMark = '/run/systemd/system';
const programs = '/var/lib/sluice/program';
const commandLink = '/usr/local/bin/sluice';
const registryUnit = 'sluice-registry@';
export const nodeUnit = 'sluice-node.service';
const unitDirectory = '/etc/systemd/system';
const cluster = '/etc/sluice/cluster';
/** Read at each question: another one needs no restart. */
const lockSecret = `${cluster}/lock-secret`;
const certificates = '/etc/sluice/registry';
/** Which node this is: the environment of the agent's unit. */
const nodeFacts = `${cluster}/node.env`;
/** Where the registry and the agent tell of their health and metrics, for a scraper on the host. */
const statusListen = { registry: '127.0.0.1:22626', agent: '127.0.0.1:22627' } as const;
/** RFC 1123: it goes into a unit. */
const nameForm = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const addressForm = /^[0-9a-fA-F.:]{2,45}$/;

/** The files of a host. Pure. Errors: InputInvalid for a name or an address that a unit cannot hold. */
export function hostFiles(facts: HostFacts): HostFile[] {
  const { nodeName, address, registry } = facts;
  if (!nameForm.test(nodeName)) throw new SluiceError('InputInvalid', `'${nodeName}' is no name of a node`);
  if (!addressForm.test(address)) throw new SluiceError('InputInvalid', `'${address}' is no address`);
  const file = (path: string, text: string, mode = 0o644): HostFile => ({ path, mode, text });
  return [
    file(`${cluster}/ca.crt`, facts.caPem),
    file(`${cluster}/token`, `${facts.token}\n`, 0o600),
    file(`${cluster}/kubeconfig`, kubeconfigOf(facts.server), 0o600),
    file(`${certificates}/ca.crt`, registry.caPem),
    file(`${certificates}/tls.crt`, registry.certPem),
    file(`${certificates}/tls.key`, registry.keyPem, 0o600),
    ...(facts.lock?.secret === undefined ? [] : [file(lockSecret, `${facts.lock.secret}\n`, 0o600)]),
    ...(facts.lock === undefined ? [] : [file('/etc/sluice/config.d/20-cluster.toml', lockRule(facts.lock))]),
    ...(facts.worker ? [] : [file(`${unitDirectory}/${registryUnit}.service`, registryService())]),
    file(nodeFacts, `SLUICE_NODE_NAME=${nodeName}\nSLUICE_NODE_ADDRESS=${address}\n`),
    file(`${unitDirectory}/${nodeUnit}`, nodeService(facts)),
  ];
}

function kubeconfigOf(server: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'cluster',
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority': `${cluster}/ca.crt` } }],
    users: [{ name: 'node', user: { tokenFile: `${cluster}/token` } }],
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'node' } }],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function lockRule({ url, secret }: NonNullable<HostFacts['lock']>): string {
  const lines = [
    '# Written by the installer of the cluster: where this host asks for a reboot slot, and what it shows.',
    '[updates.fleet_lock]',
    `base_url = ${JSON.stringify(url)}`,
    ...(secret === undefined ? [] : [`secret_file = ${JSON.stringify(lockSecret)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

const hardening = `NoNewPrivileges=yes
ProtectHome=yes
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
Environment=MALLOC_ARENA_MAX=1`;

/** The units by their names, as the machine-config operator may bring them to its control plane. */
export function unitsBesideOpenShift(): ReadonlyMap<string, string> {
  return new Map([
    [`${registryUnit}.service`, registryService()],
    [nodeUnit, nodeService({ platform: 'openshift', worker: false })],
  ]);
}

/** One instance a build: a new one takes connections before the old one lets go of its own. */
function registryService(): string {
  return `[Unit]
Description=Sluice registry of this node (program %i)
After=network.target
Before=kubelet.service

[Service]
Type=notify
# The words come from systemd-notify, a child.
NotifyAccess=all
ExecStart=${programs}/%i/sluice registry serve --store /var/lib/sluice/store --trees /var/lib/sluice/run/trees.json \\
  --listen [::]:22625 --reuse-port --drain 10m --htpasswd /var/lib/sluice/run/htpasswd \\
  --tls-cert ${certificates}/tls.crt --tls-key ${certificates}/tls.key --client-ca ${certificates}/ca.crt \\
  --peer-cert ${certificates}/tls.crt --peer-key ${certificates}/tls.key --peer-ca ${certificates}/ca.crt \\
  --trusted-keys /var/lib/sluice/run/trusted-keys --status-listen ${statusListen.registry}
Restart=always
RestartSec=2
# Pulls that are under way end by themselves.
TimeoutStopSec=11min
${hardening}
ProtectSystem=strict
CapabilityBoundingSet=CAP_DAC_READ_SEARCH

[Install]
WantedBy=multi-user.target
`;
}

/** The same text on every host of its kind: which node this is stands in a file beside it. */
function nodeService({ platform, worker }: Pick<HostFacts, 'platform' | 'worker'>): string {
  const ways =
    platform === 'kubernetes'
      ? '--os-driver auto --containerd-hosts /etc/containerd/certs.d'
      : '--os-driver none --registry-certificates /etc/containers/certs.d';
  return `[Unit]
Description=Sluice agent of this node
ConditionPathExists=${nodeFacts}
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
NotifyAccess=all
EnvironmentFile=${nodeFacts}
ExecStart=${programs}/current/sluice node run --no-register-node${worker ? ' --worker' : ''} \\
  --name \${SLUICE_NODE_NAME} --address \${SLUICE_NODE_ADDRESS} --dir /var/lib/sluice \\
  --kubeconfig ${cluster}/kubeconfig --ca ${certificates}/ca.crt --cert ${certificates}/tls.crt \\
  --key ${certificates}/tls.key --status-listen ${statusListen.agent} ${ways}
Restart=always
RestartSec=5
# What it has to keep is on the disk: an API that does not answer holds up no reboot.
TimeoutStopSec=20s
${hardening}

[Install]
WantedBy=multi-user.target
`;
}

/** Names a build of the program by its content. */
export async function programIdOf(program: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(program), hash);
  return hash.digest('hex').slice(0, 12);
}

/** systemctl of the host, and what its words were. */
export type Systemctl = (words: readonly string[]) => Promise<string>;

/** Whether systemd is the service manager of a host (sd_booted(3)). */
export function runsSystemd(root: string): boolean {
  return existsSync(join(root, systemdMark));
}

/** The host's own systemctl, by its own files and its own socket. Errors: CommandFailed. */
export function systemctlOf(root: string): Systemctl {
  return async (words) => {
    const { code, stdout, stderr } = await run('chroot', [root, 'systemctl', ...words], {
      timeoutMs: 120_000,
    });
    if (code !== 0) throw new SluiceError('CommandFailed', `systemctl ${words.join(' ')}: ${stderr.trim()}`);
    return stdout;
  };
}

/**
 * Makes a host as it should be; does nothing where it is. The program goes first, beside the versions before it; the
 * registry of the new program answers before the old one is told to end, and the old one ends when its last pull has.
 * Returns what was changed. Errors: NotFound where the host has no systemd, InputInvalid, CommandFailed, those of the file system.
 */
export async function keepHost(
  root: string,
  program: string,
  facts: HostFacts,
  systemctl: Systemctl,
  label: Label = labelOf(root),
): Promise<readonly string[]> {
  if (!runsSystemd(root)) {
    throw new SluiceError('NotFound', 'this host runs no systemd, so nothing is put on it', {
      next: 'Run the agent and the registry there by other means: docs/install.md.',
    });
  }
  const changed: string[] = [];
  const files = hostFiles(facts);
  const { programId } = facts;
  const newProgram = await putProgram(root, { program, programId, label });
  if (newProgram) changed.push(`${programs}/${programId}/sluice`);
  if (await putCommand(root)) changed.push(commandLink);
  for (const { path, text, mode } of files) {
    const at = join(root, path);
    if ((await readFile(at, 'utf8').catch(() => undefined)) === text) continue;
    await writeDurable(at, text, { mode });
    changed.push(path);
  }
  const hasChanged = (some: readonly HostFile[]) => some.some(({ path }) => changed.includes(path));
  const units = files.filter(({ path }) => path.startsWith(unitDirectory));
  await unlessDone(root, { what: 'reloaded', of: units, again: hasChanged(units) }, () =>
    systemctl(['daemon-reload']),
  );
  const instance = facts.worker ? undefined : `${registryUnit}${programId}.service`;
  const { running, answering } = await instances(systemctl);
  if (instance !== undefined && !answering.includes(instance)) {
    // Type=notify: this returns when the new one answers.
    await systemctl(['enable', '--now', instance]);
    changed.push(instance);
  }
  for (const old of running) {
    if (old === instance) continue;
    await systemctl(['disable', old]);
    await systemctl(['stop', '--no-block', old]);
    changed.push(old);
  }
  const agent = files.filter(({ path }) => path === `${unitDirectory}/${nodeUnit}` || path === nodeFacts);
  const again = newProgram || hasChanged(agent);
  await unlessDone(root, { what: 'restarted', of: [programId, agent], again }, async () => {
    await systemctl(['enable', nodeUnit]);
    // It is up when it has registered, which may take as long as the API is away: not the installer's to wait for.
    await systemctl(['restart', '--no-block', nodeUnit]);
    changed.push(nodeUnit);
  });
  if (changed.length > 0) await removeOld(root, programId, running, instance);
  return changed;
}

/**
 * Does what belongs to files that were put, and remembers it: an installer that was ended in between, or whose host
 * refused, finds the files as they should be the next time, and must not take that for the rest.
 */
async function unlessDone(
  root: string,
  { what, of, again }: { readonly what: string; readonly of: unknown; readonly again: boolean },
  act: () => Promise<unknown>,
): Promise<void> {
  const mark = join(root, programs, what);
  const wanted = createHash('sha256').update(JSON.stringify(of)).digest('hex');
  if (!again && (await readFile(mark, 'utf8').catch(() => '')) === wanted) return;
  // Of what is done anew, the mark must not be that of the time before.
  await rm(mark, { force: true });
  await act();
  await writeDurable(mark, wanted);
}

async function putProgram(
  root: string,
  { program, programId, label }: { program: string; programId: string; label: Label },
): Promise<boolean> {
  const directory = join(root, programs, programId);
  const at = join(directory, 'sluice');
  const link = join(root, programs, 'current');
  const there = await readFile(join(directory, 'whole'), 'utf8').catch(() => '');
  const isCurrent = (await readlink(link).catch(() => '')) === programId;
  if (there === programId && isCurrent) return false;
  if (there !== programId) {
    await mkdir(directory, { recursive: true });
    await copyFile(program, `${at}.new`);
    await chmod(`${at}.new`, 0o755);
    await label(`${programs}/${programId}/sluice.new`);
    await fsyncFile(`${at}.new`);
    await rename(`${at}.new`, at);
    await writeDurable(join(directory, 'whole'), programId);
  }
  await rm(`${link}.new`, { force: true });
  await symlink(programId, `${link}.new`);
  await rename(`${link}.new`, link);
  return true;
}

/** So that people find the command; what somebody else has put there stays. Answers whether it was put. */
async function putCommand(root: string): Promise<boolean> {
  const at = join(root, commandLink);
  try {
    await mkdir(dirname(at), { recursive: true });
    await symlink(`${programs}/current/sluice`, at);
    return true;
  } catch (error) {
    // It is there, or this host lets nobody write there: then people call it by its path.
    if (['EEXIST', 'EROFS', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}

/** Takes away the link of ours, and no other file. */
async function removeCommand(root: string): Promise<void> {
  const at = join(root, commandLink);
  const target = await readlink(at).catch(() => '');
  if (target === `${programs}/current/sluice`) await rm(at);
}

/** Instances of the registry: all that run, and those that have said that they answer. */
async function instances(
  systemctl: Systemctl,
): Promise<{ readonly running: readonly string[]; readonly answering: readonly string[] }> {
  const text = await systemctl([
    'list-units',
    '--plain',
    '--no-legend',
    '--state=active,activating,reloading',
    `${registryUnit}*.service`,
  ]);
  const found = text.split('\n').flatMap((line) => {
    const [, unit, state] = /^\s*(sluice-registry@[0-9a-f]+\.service)\s+\S+\s+(\S+)/.exec(line) ?? [];
    return unit === undefined ? [] : [{ unit, answers: state !== 'activating' }];
  });
  return {
    running: found.map(({ unit }) => unit),
    // One that fails is started again and again, and is `activating` all the time.
    answering: found.filter(({ answers }) => answers).map(({ unit }) => unit),
  };
}

/** Programs that nothing runs any more; one whose registry still ends its pulls goes the next time. */
async function removeOld(
  root: string,
  programId: string,
  running: readonly string[],
  instance: string | undefined,
): Promise<void> {
  const kept = new Set([
    programId,
    ...running
      .filter((each) => each !== instance)
      .map((each) => each.slice(registryUnit.length, -'.service'.length)),
  ]);
  for (const name of await readdir(join(root, programs)).catch(() => [])) {
    if (!/^[0-9a-f]{12}$/.test(name) || kept.has(name)) continue;
    await rm(join(root, programs, name), { recursive: true, force: true });
  }
}

/** Stops what was installed and takes it away; store, state and keys stay. */
export async function removeHost(root: string, systemctl: Systemctl): Promise<void> {
  for (const unit of [nodeUnit, ...(await instances(systemctl)).running]) {
    await systemctl(['disable', '--now', unit]);
  }
  for (const path of [
    `${unitDirectory}/${nodeUnit}`,
    `${unitDirectory}/${registryUnit}.service`,
    cluster,
    certificates,
    '/etc/sluice/config.d/20-cluster.toml',
    programs,
  ]) {
    await rm(join(root, path), { recursive: true, force: true });
  }
  await removeCommand(root);
  await systemctl(['daemon-reload']);
}
