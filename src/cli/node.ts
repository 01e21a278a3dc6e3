import { Command, Option } from 'commander';
import { configDirectories } from '../finalize/config.ts';
import { withConnection } from './connect.ts';
import { withOperationsOptions } from './operations.ts';
import { formatFlag, formatHelp } from './output.ts';

/** One default for who runs by a configuration and for who shows it. */
function configDirOption(): Option {
  const option = new Option('--config-dir <dir...>', 'directories of drop-ins, a later one wins');
  return option.default(
    [...configDirectories],
    `those of zincati, then those of sluice, below /usr/lib, /run, /etc`,
  );
}

/** `sluice node run|why|status|config|approve|install`. */
export function command(): Command {
  const root = new Command().description('Run a node agent; see why a node does not reboot yet');
  const look = (name: string, description: string) =>
    withConnection(root.command(name).description(description))
      .argument('[node...]', 'nodes of the cluster (default: all, or this host where it runs alone)')
      .option('--socket <file>', 'ask the agent that listens there instead of a cluster')
      .option(formatFlag, formatHelp);
  look('why', 'What holds a node, since when, and when it could reboot').action(async (names, options) =>
    (await import('./node-why.ts')).why(names, options),
  );
  look('status', 'What each node runs, has staged, and does')
    .option('--json', 'the same as -o json')
    .action(async (names, options) => (await import('./node-why.ts')).status(names, options));
  root
    .command('approve')
    .description('Let this host reboot into what it has staged: once, within the hour')
    .argument('[release]', 'only if this version or digest is what is staged')
    .option('--socket <file>', "the agent's socket (default: that of this host)")
    .action(async (release, options) => (await import('./node-why.ts')).approve(release, options));
  root
    .command('config')
    .description(
      'The rule in force on this host: file and line of each value, and everything that has no effect',
    )
    .addOption(configDirOption())
    .option(formatFlag, formatHelp)
    .action(async (options) => (await import('./node-config.ts')).config(options));
  withOperationsOptions(withConnection(root.command('run').description('Run the agent of one node')))
    .option('--local', 'a host without a cluster: the agent goes by its configuration alone')
    .option('--worker', "keep no content: stage and boot what the control plane's registries have")
    .option('--name <node>', 'the name of the node')
    .option('--dir <dir>', 'where it keeps its store and its state (--local: /var/lib/sluice)')
    .option('--run-dir <dir>', 'where a --local agent listens (default: /run/sluice)')
    .option('--address <ip>', 'where its registry and its kubelet listen')
    .option('--ca <file>', "the cluster's authority")
    .option('--cert <file>', "the node's certificate")
    .option('--key <file>', 'its key')
    .option('--trusted-keys <dir>', 'trusted keys beside those of the cluster')
    .addOption(configDirOption())
    .addOption(
      new Option('--workload <runner>', 'what runs Pods')
        .choices(['podman', 'sandbox', 'none'])
        .default('none'),
    )
    .option(
      '--register-node',
      'make the Node and keep it ready, as its kubelet would (default: where no kubelet can be)',
    )
    .option('--no-register-node', 'leave the Node to its kubelet')
    .option(
      '--containerd-hosts <dir>',
      "containerd's config_path: keep its hosts.toml files equal to the mirror sets",
    )
    .option(
      '--registry-certificates <dir>',
      "where CRI-O and podman look for them: keep those of the control plane's registries there",
    )
    .option('--containers <dir>', 'where images and containers are kept (default: DIR/containers)')
    .addOption(
      new Option(
        '--os-driver <driver>',
        'what stages and reboots (default: simulated; with --local auto, what this host was booted by)',
      ).choices(['auto', 'rpm-ostree', 'bootc', 'none', 'simulated']),
    )
    .option('--boot-id <id>', "the boot id that a simulated node shows (default: the kernel's)")
    .action(async (options) => (await import('./node-run.ts')).runAgent(options));
  withOperationsOptions(
    root
      .command('install')
      .description(
        'Put the program and its units on a host of a cluster, and keep them current (a DaemonSet runs it)',
      ),
  )
    .option('--root <dir>', 'the root of the host', '/host')
    .option('--once', 'do it once, instead of looking again and again')
    .option('--worker', 'the host keeps no content: the agent alone')
    .option('--beside-openshift', 'the machine-config operator stages and reboots: the agent does neither')
    .option('--remove', 'stop what was installed and take it away; store and state stay')
    .action(async (options) => (await import('./node-install.ts')).installHost(options));
  root.addHelpText(
    'after',
    `
Examples:
  sluice node why                   Every node that waits, gate by gate
  sluice node why master-0 -o json
  sluice node status                Agent, OS, media and releases of every node
  sluice node config                Which file says what, and which key has no effect
  sluice node run --local           The agent of a host without a cluster (deploy/systemd/sluice-agent.service)
  sluice node approve               A person says OK to the staged update
  sluice node install --root /host  As the DaemonSet does; --worker: without store and registry`,
  );
  return root;
}
