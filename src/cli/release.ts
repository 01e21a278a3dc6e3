import { Command } from 'commander';
import { type ConnectOptions, connect, parseDuration, withConnection } from './connect.ts';
import { formatFlag, formatHelp } from './output.ts';

export interface ReleaseOptions extends ConnectOptions {
  readonly output?: string;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly dryRun?: boolean;
}

/** `sluice release ls|add|rm|status`. */
export function command(): Command {
  const root = new Command().description('Copy releases to the control-plane nodes, watch them, remove them');
  withConnection(root.command('ls').description('Every release that a node holds or sees on its media'))
    .option(formatFlag, formatHelp)
    .action(run('list'));
  withConnection(root.command('add').description('Copy a release to every control-plane node'))
    .argument('<release>', "a bundle's name, or a version that is at hand")
    .option('--wait', 'show the progress of every node until all hold it (the default)', true)
    .option('--no-wait', 'only ask for it')
    .option('--timeout <duration>', 'give up waiting after this long (90m, 2h)')
    .action(run('add'));
  withConnection(root.command('rm').description('Free the space of a release that nothing uses'))
    .argument('<release>', "a bundle's name, or a version")
    .option('--dry-run', 'only say what it would free, and whether it may go')
    .option('--no-wait', 'do not wait until every node has removed it')
    .option('--timeout <duration>', 'give up waiting after this long', '5m')
    .action(run('remove'));
  withConnection(root.command('status').description('How a release stands, on each node'))
    .argument('[release]', "a bundle's name, or a version (default: all)")
    .option(formatFlag, formatHelp)
    .action(run('status'));
  root.addHelpText(
    'after',
    `
A release is Available when every control-plane node holds every byte of it and has hashed it: then its disk may go.
The same by hand: kubectl edit internalreleaseimage cluster

Examples:
  sluice release ls
  sluice release add 1.1.0
  sluice release status 1.1.0
  sluice release rm 1.0.0 --dry-run`,
  );
  return root;
}

type Action = 'list' | 'add' | 'remove' | 'status';

/** Loads what the action needs only when it is called, and closes the client after it. */
function run(action: Action) {
  return async (...args: unknown[]) => {
    // Commander passes the arguments, then the options, then the command.
    const options = args.at(-2) as ReleaseOptions;
    const release = args.length > 2 ? (args[0] as string | undefined) : undefined;
    const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
    const client = await connect(options);
    try {
      const actions = await import('./release-actions.ts');
      await actions[action](client, release, { ...options, timeoutMs });
    } finally {
      await client.close();
    }
  };
}
