import { Command, Option } from 'commander';
import { connect, durationOption, withConnection } from './connect.ts';
import { formatFlag, formatHelp } from './output.ts';
import type { ReleaseOptions } from './release-options.ts';

interface PreloadOptions {
  readonly root: string;
  readonly key?: readonly string[];
}

/** `sluice release ls|add|rm|status|pause|resume|cancel|catalogs|mirrors|preload|credentials rotate`. */
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
    .option(formatFlag, formatHelp)
    .action(run('add'));
  withConnection(root.command('rm').description('Free the space of a release that nothing uses'))
    .argument('<release>', "a bundle's name, or a version")
    .option('--dry-run', 'only say what it would free, and whether it may go')
    .option('--no-wait', 'do not wait until every node has removed it')
    .option('--timeout <duration>', 'give up waiting after this long', '5m')
    .option(formatFlag, formatHelp)
    .action(run('remove'));
  withConnection(root.command('status').description('How a release stands, on each node'))
    .argument('[release]', "a bundle's name, or a version (default: all)")
    .option(formatFlag, formatHelp)
    .action(run('status'));
  withConnection(root.command('pause').description('Let the copies of a release stand still, on every node'))
    .argument('<release>', "a bundle's name, or a version")
    .action(run('pause'));
  withConnection(root.command('resume').description('Go on with copies that were paused, where they stopped'))
    .argument('<release>', "a bundle's name, or a version")
    .action(run('resume'));
  withConnection(
    root
      .command('cancel')
      .description('Give up a release that is being copied, and free what has come of it'),
  )
    .argument('<release>', "a bundle's name, or a version")
    .option('--timeout <duration>', 'give up waiting after this long', '5m')
    .action(run('cancel'));
  withConnection(
    root
      .command('catalogs')
      .description('The objects by which the cluster finds the operators of a release: shown, or applied'),
  )
    .argument('<release>', "a bundle's name, or a version")
    .addOption(
      new Option('--olm <version>', 'v0 (CatalogSource) or v1 (ClusterCatalog); default: both').choices([
        'v0',
        'v1',
      ]),
    )
    .option('--default-sources-off', 'turn the catalogs of the internet off as well (OperatorHub)')
    .option('--apply', 'make them stand in the cluster; nothing of others is changed or removed')
    .option('--dry-run', 'only say what --apply would change, tried on the API server')
    .option(
      '-n, --namespace <namespace>',
      'where CatalogSources go (default: openshift-marketplace; olm on Kubernetes)',
    )
    .addOption(new Option(formatFlag, 'the objects as yaml (the default) or json').choices(['yaml', 'json']))
    .action(run('catalogs'));
  withConnection(
    root
      .command('mirrors')
      .description('The mirrors of the cluster as registries.conf, for hosts of your own'),
  ).action(run('mirrors'));
  root
    .command('preload')
    .description("Fill a node's store before its first boot, without a cluster")
    .argument('<media>', 'a directory, an ISO image, a tar archive or a disk')
    .argument('[release]', "a bundle's name, or a version (default: the only one on the media)")
    .requiredOption('--root <dir>', "the node's store, which gets docker/registry/v2")
    .option('--key <file...>', 'public keys of signers (default: /etc/sluice/trusted-keys/*.pub)')
    .action(async (media: string, release: string | undefined, options: PreloadOptions) => {
      const { preloadRelease } = await import('./release-preload.ts');
      await preloadRelease(media, release, options);
    });
  const credentials = root.command('credentials').description("The password of the nodes' registries");
  withConnection(credentials.command('rotate').description('Change it without one failed pull'))
    .option('--no-wait', 'only begin: the controller does the rest')
    .option('--timeout <duration>', 'give up waiting after this long', '10m')
    .addHelpText(
      'after',
      `
Every node first accepts the new password beside the old one; only then is it given to clients, and only when
every node has seen that, the old one goes (nodes accept it ten minutes more, for clients that are slow).`,
    )
    .action(run('rotate'));
  root.addHelpText(
    'after',
    `
A release is Available when every control-plane node holds every byte of it and has hashed it: then its disk may go.
The same by hand: kubectl edit internalreleaseimage cluster

Examples:
  sluice release ls
  sluice release add 1.1.0
  sluice release add 1.1.0 --no-wait -o json
  sluice release status 1.1.0
  sluice release pause 1.1.0               The copy holds until resume
  sluice release resume 1.1.0
  sluice release cancel 1.1.0              Give it up, and free what has come of it
  sluice release rm 1.0.0 --dry-run
  sluice release rm 1.0.0 -o json          What was removed, from where, and what it freed
  sluice release preload /run/media/SLUICE --root /mnt/sysroot/var/lib/sluice/store --key sluice.pub
  sluice release catalogs 1.1.0            The objects, to look at
  sluice release catalogs 1.1.0 --dry-run  What applying them would change
  sluice release catalogs 1.1.0 --apply --default-sources-off
  sluice release mirrors > /etc/containers/registries.conf.d/50-sluice.conf
  sluice release credentials rotate`,
  );
  return root;
}

type Action =
  | 'list'
  | 'add'
  | 'remove'
  | 'status'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'rotate'
  | 'catalogs'
  | 'mirrors';

/** Loads what the action needs only when it is called, and closes the client after it. */
function run(action: Action) {
  return async (...args: unknown[]) => {
    // Commander passes the arguments, then the options, then the command.
    const options = args.at(-2) as ReleaseOptions;
    const release = args.length > 2 ? (args[0] as string | undefined) : undefined;
    const timeoutMs = options.timeout === undefined ? undefined : durationOption(options.timeout);
    const client = await connect(options);
    try {
      const [actions, changes, more] = await Promise.all([
        import('./release-actions.ts'),
        import('./release-changes.ts'),
        import('./release-catalogs.ts'),
      ]);
      await { ...actions, ...changes, ...more }[action](client, release, { ...options, timeoutMs });
    } finally {
      await client.close();
    }
  };
}
