import { Command } from 'commander';
import type { FleetLockGroup } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { Metrics } from '../observe/metrics.ts';
import { bareName } from './arguments.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import { type LockAccessOptions, lockAccessOf, withLockAccess } from './lock-access.ts';
import { operationsOf } from './operations.ts';
import {
  formatFlag,
  formatHelp,
  humanDuration,
  note,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';

interface LockOptions extends ConnectOptions, LockAccessOptions {
  readonly group?: string;
  readonly output?: string;
  readonly listen?: string;
  readonly state?: string;
  readonly slots?: string[];
  readonly now?: boolean;
}

/** `sluice lock ls|release|serve`. */
export function command(): Command {
  const root = new Command().description('See and release the reboot slots of the fleet lock');
  withConnection(root.command('ls').description('Who holds a slot, and since when'))
    .option(formatFlag, formatHelp)
    .action(list);
  withConnection(root.command('release').description('Take a slot from a node that will not give it back'))
    .argument('<node>', 'the name of the node, or the id of the client')
    .option('--group <name>', 'the group', 'default')
    .action(release);
  withConnection(
    root
      .command('rotate')
      .description('Change what nodes show to the lock of a Kubernetes cluster (Secret sluice-fleet-lock)'),
  )
    .option('--now', 'the one before counts no more: where it is known to the wrong people')
    .action(rotate);
  withLockAccess(
    withConnection(
      root.command('serve').description('Serve the FleetLock protocol (the controller does it too)'),
    ),
  )
    .option('--listen <address:port>', 'where to listen', '127.0.0.1:3333')
    .option('--state <dir>', 'keep the slots in this directory instead of a cluster: for hosts without one')
    .option('--slots <group=count...>', 'with --state: the groups (default: default=1)')
    .action(serveLock);
  root.addHelpText(
    'after',
    `
On this machine only root, the server's own user and --lock-trust-user may ask without the secret: who takes a slot
has a node drained. zincati knows no secret: leave it out, and trust its user where it runs on this machine.
Releasing a slot lets the next node reboot although this one has not come back: look why first.

Examples:
  sluice lock ls
  sluice lock release master-0
  sluice lock rotate                       The secret before it counts for another hour
  sluice lock serve --listen 10.0.0.1:3333 --state /var/lib/sluice-lock --slots default=1 workers=3
  sluice lock serve --listen 127.0.0.1:3333 --state /var/lib/sluice-lock --lock-trust-user zincati`,
  );
  return root;
}

async function list(options: LockOptions): Promise<void> {
  const format = parseFormat(options.output);
  const client = await connect(options);
  try {
    const { items } = await client.list<FleetLockGroup>(client.kinds.FleetLockGroup);
    if (format === 'json' || format === 'yaml') return await printObject(items, format);
    if (format === 'name')
      return print(items.map((group) => `fleetlockgroup/${group.metadata.name}`).join('\n'));
    const rows = items.flatMap((group) => {
      const name = group.metadata.name ?? '';
      const holders = group.status?.holders ?? [];
      const slots = `${holders.length}/${group.spec?.slots ?? 1}`;
      if (holders.length === 0) return [[name, slots, '', '', '', '']];
      return holders.map((holder) => [
        name,
        slots,
        holder.node ?? holder.id,
        holder.state ?? '',
        humanDuration(Date.now() - Date.parse(holder.since ?? '')),
        holder.message ?? '',
      ]);
    });
    printTable(['GROUP', 'SLOTS', 'HOLDER', 'STATE', 'SINCE', 'MESSAGE'], rows);
  } finally {
    await client.close();
  }
}

async function release(given: string, options: LockOptions): Promise<void> {
  const node = bareName(given, 'node');
  const group = bareName(options.group ?? 'default', 'fleetlockgroup');
  const client = await connect(options);
  try {
    const { releaseHolder } = await import('../lock/release.ts');
    const outcome = await releaseHolder(client, group, node);
    switch (outcome) {
      case 'released':
        return note(`the slot of ${node} is free`);
      case 'not-held': {
        const { notHeldLines } = await import('./lock-holders.ts');
        const { items } = await client.list<FleetLockGroup>(client.kinds.FleetLockGroup);
        for (const line of notHeldLines(node, group, items)) note(line);
        return;
      }
      case 'no-group':
        throw new SluiceError('NotFound', `there is no FleetLockGroup '${group}'`, {
          next: 'See which there are: sluice lock ls; name one of them: --group NAME.',
        });
    }
  } finally {
    await client.close();
  }
}

async function rotate(options: LockOptions): Promise<void> {
  const client = await connect(options);
  try {
    if (client.platform !== 'kubernetes') {
      throw new SluiceError('Usage', `on ${client.platform} the lock has no Secret in the cluster`, {
        next: 'Where it is served with --lock-secret-file, write another one into that file, and into those of the nodes.',
      });
    }
    const { rotateClusterSecret } = await import('../lock/cluster-secret.ts');
    const until = await rotateClusterSecret(client, Date.now(), options.now === true);
    note(
      until === undefined
        ? 'the secret is changed; nodes ask in vain until they have it, which takes about two minutes'
        : `the secret is changed; the one before it counts until ${until}, and nodes have the new one in about two minutes`,
    );
  } finally {
    await client.close();
  }
}

async function serveLock(options: LockOptions): Promise<void> {
  const { serve } = await import('../http/server.ts');
  const { terminationSignal } = await import('../process/parent.ts');
  const { parseListen } = await import('../http/listen.ts');
  const signal = terminationSignal();
  const { withOperations } = await import('../http/operations.ts');
  const { metrics } = await operationsOf({});
  const locks =
    options.state === undefined
      ? await clusterLocks(options, metrics, signal)
      : await fileLocks(options, metrics);
  const server = await serve({
    ...parseListen(options.listen ?? ''),
    handler: withOperations({ metrics, ready: { slots: locks.problem } }, locks.handler),
  });
  note(`the fleet lock answers at http://${server.address}:${server.port}/`);
  await locks.run(signal);
  await server.close();
  await locks.close();
}

/** The slots of the cluster's FleetLockGroups; nodes are drained. */
async function clusterLocks(options: LockOptions, metrics: Metrics, signal: AbortSignal) {
  const { createLockServer } = await import('../lock/server.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const client = await connect(options);
  const locks = createLockServer({
    client,
    metrics,
    clock: systemClock,
    logger: createLogger('lock'),
    access: await lockAccessOf(options),
    signal,
  });
  const problem = async () => void (await client.list(client.kinds.FleetLockGroup));
  return { ...locks, problem, close: () => client.close() };
}

/** The slots in a directory, for hosts without a cluster. */
async function fileLocks(options: LockOptions, metrics: Metrics) {
  const { createPlainLockHandler } = await import('../lock/server.ts');
  const { openFileStore } = await import('../lock/file-store.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const store = await openFileStore(options.state ?? '', (options.slots ?? ['default=1']).map(groupRule));
  const handler = createPlainLockHandler({
    store,
    metrics,
    clock: systemClock,
    logger: createLogger('lock'),
    access: await lockAccessOf(options),
  });
  const run = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const problem = async () => void (await store.groups());
  return { handler, run, problem, close: () => store.close() };
}

/** `workers=3` */
function groupRule(text: string): { name: string; slots: number } {
  const found = /^([a-zA-Z0-9.-]{1,63})=(\d{1,4})$/.exec(text);
  if (found === null)
    throw new SluiceError('Usage', `'${text}' is no group with its slots, such as workers=3`);
  return { name: found[1] ?? '', slots: Number(found[2]) };
}
