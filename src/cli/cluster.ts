import { Command, Option } from 'commander';
import type { AnyObject } from '../api/core.ts';
import type { ObjectState, Survey } from '../install/survey.ts';
import type { UninstallStep } from '../install/uninstall.ts';
import type { KubeClient } from '../kube/client.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import {
  formatFlag,
  formatHelp,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';

interface ClusterOptions extends ConnectOptions {
  readonly output?: string;
  readonly image?: string;
  readonly dryRun?: boolean;
  readonly keepData?: boolean;
}

/** `sluice cluster check|install|uninstall`. */
export function command(): Command {
  const root = new Command().description(
    'Check what a cluster has and lacks for Sluice; install it there, take it away again',
  );
  const image = ['--image <reference>', 'what the workloads run (default: as deploy/ names it)'] as const;
  withConnection(root.command('check').description('Which platform this is, what is served, what is missing'))
    .option(...image)
    .option(formatFlag, formatHelp)
    .action((options: ClusterOptions) => withCluster(options, check));
  withConnection(
    root.command('install').description('Make definitions, rights, policies and workloads stand'),
  )
    .option(...image)
    .option('--dry-run', 'say what would be done, and change nothing')
    .addOption(
      new Option(formatFlag, 'print what would be applied, and change nothing').choices(['yaml', 'json']),
    )
    .action((options: ClusterOptions) => withCluster(options, install));
  withConnection(
    root
      .command('uninstall')
      .description('Take everything of Sluice away, in an order that holds up nothing'),
  )
    .option('--keep-data', 'keep the definitions and their objects, ConfigMaps and Secrets')
    .option('--dry-run', 'say what would be done, and change nothing')
    .option(formatFlag, formatHelp)
    .action((options: ClusterOptions) => withCluster(options, uninstall));
  root.addHelpText(
    'after',
    `
What is installed is deploy/<platform>/ of this package, as kubectl apply -k takes it. On OpenShift nothing is
installed that applies releases or reboots nodes: the platform's own operators do that.

Exit codes of check: 0 all of it stands, 3 something is missing or differs.

Examples:
  sluice cluster check
  sluice cluster install --dry-run
  sluice cluster install --image registry.example/sluice:0.1.0
  sluice cluster install -o yaml > sluice.yaml
  sluice cluster uninstall --keep-data`,
  );
  return root;
}

type Act = (client: KubeClient, shipped: readonly AnyObject[], options: ClusterOptions) => Promise<void>;

async function withCluster(options: ClusterOptions, act: Act): Promise<void> {
  const { sluiceGroup } = await import('../api/kinds.ts');
  const { shippedObjects } = await import('../install/manifests.ts');
  const client = await connect(options, { installs: true });
  const { platform, kinds } = client;
  try {
    const shipped = shippedObjects({
      platform,
      machineConfigOperatorServes:
        platform === 'openshift' && kinds.InternalReleaseImage.group === sluiceGroup,
      ...(options.image === undefined ? {} : { image: options.image }),
    });
    await act(client, shipped, options);
  } finally {
    await client.close();
  }
}

async function check(client: KubeClient, shipped: readonly AnyObject[], options: ClusterOptions) {
  const format = parseFormat(options.output);
  const { surveyCluster } = await import('../install/survey.ts');
  const survey = await surveyCluster(client, shipped);
  const undone = survey.objects.filter(({ state }) => state !== 'unchanged');
  if (undone.length > 0 || survey.remarks.some(({ ok }) => !ok)) process.exitCode = 3;
  if (format === 'json' || format === 'yaml') return await printObject(survey, format);
  if (format === 'name') return print(undone.map(title).join('\n'));
  printSurvey(survey, undone, format === 'wide');
}

function printSurvey(survey: Survey, undone: readonly ObjectState[], wide: boolean): void {
  print(`${survey.platform} (${survey.serverVersion}) at ${survey.server}\n`);
  printTable(
    ['KIND', 'RESOURCE', 'VERSION', 'SERVED', 'DEFINED BY'],
    survey.kinds.map((kind) => [
      kind.kind,
      kind.resource,
      kind.version,
      kind.served ? paint('green', 'yes') : paint('yellow', 'no'),
      kind.owner === 'sluice' ? 'Sluice' : 'the platform',
    ]),
  );
  print('');
  for (const { ok, message } of survey.remarks)
    print(`${ok ? paint('green', '✓') : paint('red', '✗')} ${message}`);
  const shown = wide ? survey.objects : undone;
  if (shown.length > 0) {
    print('');
    printTable(
      ['OBJECT', 'STATE', 'INSTALL WOULD'],
      shown.map((object) => [title(object), object.state, wouldDo[object.state]]),
    );
  }
  print('');
  print(
    undone.length === 0
      ? `All ${survey.objects.length} objects stand as they are shipped.`
      : `${undone.length} of ${survey.objects.length} objects ${undone.length === 1 ? 'is missing or differs' : 'are missing or differ'}: sluice cluster install`,
  );
}

const wouldDo = { missing: 'create it', differs: 'change it', unchanged: 'leave it' } as const;

async function install(client: KubeClient, shipped: readonly AnyObject[], options: ClusterOptions) {
  const format = parseFormat(options.output);
  if (format === 'yaml') {
    const { stringify } = await import('yaml');
    return print(
      shipped
        .map((object) => stringify(object))
        .join('---\n')
        .trimEnd(),
    );
  }
  if (format === 'json') return await printObject({ apiVersion: 'v1', kind: 'List', items: shipped }, 'json');
  if (options.dryRun === true) {
    const { surveyCluster } = await import('../install/survey.ts');
    const { objects } = await surveyCluster(client, shipped);
    for (const object of objects) print(`${title(object)} ${dryRunWords[object.state]} (dry run)`);
    return;
  }
  const { installObjects } = await import('../install/install.ts');
  const done = await installObjects(client, shipped, {
    onObject: (object) => print(`${title(object)} ${object.outcome}`),
  });
  const changed = done.filter(({ outcome }) => outcome !== 'unchanged').length;
  note(`${done.length} objects stand, ${changed} of them new or changed; see: sluice cluster check`);
}

const dryRunWords = { missing: 'created', differs: 'changed', unchanged: 'unchanged' } as const;

async function uninstall(client: KubeClient, shipped: readonly AnyObject[], options: ClusterOptions) {
  const format = parseFormat(options.output);
  const { uninstallObjects } = await import('../install/uninstall.ts');
  const plain = format === 'table' || format === 'wide';
  const steps = await uninstallObjects(client, shipped, {
    keepData: options.keepData === true,
    dryRun: options.dryRun === true,
    onStep: (step) => {
      if (plain) print(`${title(step)} ${stepWords[step.act]}${options.dryRun === true ? ' (dry run)' : ''}`);
    },
    onWait: (what) => note(`waiting until the API server has let go of ${what}`),
  });
  if (format === 'json' || format === 'yaml') return await printObject(steps, format);
  if (format === 'name') return print(steps.map(title).join('\n'));
  if (steps.length === 0) return note('nothing of Sluice stands here');
  if (client.platform === 'standalone' || options.dryRun === true) return;
  note('On the hosts, stores and units stay until: sluice node install --remove --root /');
}

const stepWords: Readonly<Record<UninstallStep['act'], string>> = {
  delete: 'deleted',
  release: 'released (finalizer of Sluice)',
  uncordon: 'uncordoned',
  unpause: 'unpaused',
};

function title(object: { kind: string; namespace?: string; name: string }): string {
  const where = object.namespace === undefined ? '' : `${object.namespace}/`;
  return `${object.kind} ${where}${object.name}`;
}
