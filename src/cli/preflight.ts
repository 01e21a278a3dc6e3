import { Command } from 'commander';
import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { bareName } from './arguments.ts';
import { type ConnectOptions, withClient, withConnection } from './connect.ts';
import {
  type Format,
  formatFlag,
  formatHelp,
  humanDuration,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  renderTable,
} from './output.ts';
import { exitCodeOf, reportData, reportView, wrapRows } from './preflight-report.ts';
import type { TryOptions } from './preflight-try.ts';
import { noUpdateFollows } from './report-standing.ts';

interface RunOptions extends ConnectOptions {
  readonly to?: string;
  readonly image?: string;
  readonly accept?: readonly string[];
  readonly timeout?: string;
  readonly wait?: boolean;
  readonly output?: string;
  readonly detailedExitcode?: boolean;
}

/** `sluice preflight run|ls|show|try`. */
export function command(): Command {
  const root = new Command().description(
    "Run a target release's own checks against this cluster, read-only, and see what they found",
  );
  withConnection(
    root.command('run').description('Run the checks of a release now, or join the run in flight'),
  )
    .option('--to <version>', 'the release by its version, among the bundles at hand')
    .option('--image <reference>', 'the release by its payload image, by digest')
    .option('--accept <names...>', 'risks that you take, by their names', collectNames)
    .option('--timeout <duration>', 'how long the run may take (default: 30m)')
    .option('--no-wait', 'do not wait for the report')
    .option('--detailed-exitcode', 'exit 4 where it passed with accepted risks or warnings')
    .option(formatFlag, formatHelp)
    .action((options: RunOptions) => withClient(options, (client) => run(client, options)));
  withConnection(root.command('ls').description('Every preflight and its verdict'))
    .option(formatFlag, formatHelp)
    .action((options: RunOptions) => withClient(options, (client) => list(client, options)));
  withConnection(root.command('show').description('The report of a preflight'))
    .argument('<name>', 'name of the UpdatePreflight, or the version that it looks at')
    .option('--detailed-exitcode', 'exit 4 where it passed with accepted risks or warnings')
    .option(formatFlag, formatHelp)
    .action((name: string, options: RunOptions) =>
      withClient(options, (client) => show(client, bareName(name, 'updatepreflight'), options)),
    );
  root
    .command('try')
    .description('Run one check without a cluster, against recorded objects, while it is being written')
    .requiredOption(
      '--image <source>',
      'the image of the check: oci:DIR:REF, docker-archive:FILE or HOST/NAME@DIGEST',
    )
    .requiredOption('--cluster <dir>', 'recorded objects, as kubectl get -o yaml writes them')
    .option('--manifest <file>', "the check's Job manifest, with its command and the reads that it asks for")
    .option('--release-manifests <dir>', 'files that it finds in /release-manifests')
    .option('--from <version>', 'the version that the cluster has', '1.0.0')
    .option('--to <version>', 'the version that would be gone to', '1.1.0')
    .option('--kernel <version>', 'the kernel of the target')
    .option('--os-version <version>', 'the OS version of the target')
    .option('--timeout <duration>', 'how long it may take', '2m')
    .option(formatFlag, formatHelp)
    .action(async (options: TryOptions & { output?: string }) => {
      const { tryCheck } = await import('./preflight-try.ts');
      process.exitCode = await tryCheck(options, parseFormat(options.output));
    });
  root.addHelpText(
    'after',
    `
Nothing in the cluster is changed: the checks have an identity that can only look. A release can be looked at as soon
as its media are attached, before it is copied.

Exit codes: 0 passed, 3 blocked by a risk, 5 a check could not be completed, 6 the release is not trusted; with
--detailed-exitcode 4 where it passed with accepted risks or warnings.

Examples:
  sluice preflight run --to 1.1.0
  sluice preflight run --to 1.1.0 --accept EvictionPolicyRemoved
  sluice preflight ls
  sluice preflight show 1.1.0 -o wide
  sluice preflight try --image oci:images:cache-check --manifest cache-check.yaml --cluster recorded/

docs/preflight-checks.md shows how a check is written, from nothing, in fifteen minutes.`,
  );
  return root;
}

/** `--accept A,B C` as one list. */
export function collectNames(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',').filter((name) => name !== '')];
}

async function run(client: KubeClient, options: RunOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { nameRelease, requestRun } = await import('../preflight/request.ts');
  const { to, image, accept = [], timeout } = options;
  if (to === undefined && image === undefined) {
    throw new SluiceError('Usage', 'which release? Give --to VERSION or --image REFERENCE');
  }
  const words = { ...(to === undefined ? {} : { to }), ...(image === undefined ? {} : { image }) };
  const release = await nameRelease(client, words);
  const how = { accept, ...(timeout === undefined ? {} : { timeout }) };
  if (options.wait === false) {
    const { object } = await requestRun(client, release, how);
    return note(`asked for; see: sluice preflight show ${object.metadata.name}`);
  }
  const { runPreflight } = await import('./preflight-run.ts');
  const object = await runPreflight(client, release, how);
  if (object === undefined) return;
  await printStanding(client, object, format);
  const { acceptanceWarnings } = await import('./upgrade-accept.ts');
  for (const warning of acceptanceWarnings(accept, object, [], to ?? release.image)) note(warning);
  process.exitCode = exitCodeOf(object, options.detailedExitcode === true);
}

/**
 * Prints a report as data on standard output.
 * @param options.nothingFollows no update to the release follows from it: none is offered.
 */
export async function printReport(
  object: UpdatePreflight,
  format: Format,
  options: { readonly nothingFollows?: boolean } = {},
): Promise<void> {
  if (format === 'json' || format === 'yaml') return await printObject(reportData(object), format);
  if (format === 'name') return print(`updatepreflight/${object.metadata.name}`);
  const view = reportView(object, Date.now(), { ...options, wide: format === 'wide' });
  print(view.heading);
  print(paint(view.verdict.colour, view.verdict.text));
  if (view.rows.length > 0) {
    const width = format === 'wide' || !process.stdout.isTTY ? undefined : process.stdout.columns;
    const rows = wrapRows(view, width).flatMap((lines, index) =>
      lines.map((row) =>
        row.map((cell, column) =>
          column === 2 && cell !== '' ? paint(view.colours[index] ?? 'gray', cell) : cell,
        ),
      ),
    );
    print(`\n${renderTable(view.columns, rows)}`);
  }
  if (view.note !== undefined) print(`\n${view.note}`);
  if (view.next.length > 0) print(`\nNext:\n${view.next.map((line) => `  ${line}`).join('\n')}`);
}

async function list(client: KubeClient, options: RunOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { items } = await client.list(client.kinds.UpdatePreflight);
  if (format === 'json' || format === 'yaml') return await printObject(items.map(reportData), format);
  if (format === 'name')
    return print(items.map((item) => `updatepreflight/${item.metadata.name}`).join('\n'));
  if (items.length === 0) return note('no preflight was run yet; see: sluice preflight run --help');
  const now = Date.now();
  const rows = items.map(({ metadata, spec, status }) => [
    metadata.name,
    status?.target?.version ?? spec.version ?? '-',
    status?.source?.version ?? '-',
    status?.verdict ?? 'Pending',
    status?.reason ?? '-',
    status?.finishedAt === undefined ? '-' : humanDuration(now - Date.parse(status.finishedAt)),
    status?.message ?? '',
  ]);
  print(renderTable(['NAME', 'TARGET', 'FROM', 'VERDICT', 'REASON', 'FINISHED', 'MESSAGE'], rows));
}

async function show(client: KubeClient, name: string, options: RunOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { items } = await client.list(client.kinds.UpdatePreflight);
  const matches = items.filter(
    ({ metadata, spec, status }) =>
      metadata.name === name || (status?.target?.version ?? spec.version) === name,
  );
  const [object] = matches.sort((a, b) =>
    (a.status?.startedAt ?? '') < (b.status?.startedAt ?? '') ? 1 : -1,
  );
  if (object === undefined) {
    throw new SluiceError('NotFound', `there is no preflight ${name}, by name or by version`, {
      next: 'See what there is: sluice preflight ls.',
    });
  }
  await printStanding(client, object, format);
  process.exitCode = exitCodeOf(object, options.detailedExitcode === true);
}

/** Prints a report; where no update follows from it any more, none is offered, and that is said. */
async function printStanding(client: KubeClient, object: UpdatePreflight, format: Format): Promise<void> {
  const { clusterVersion } = names(client.platform);
  const version = await client.tryGet(client.kinds.ClusterVersion, clusterVersion);
  const told = noUpdateFollows(version, object);
  await printReport(object, format, { nothingFollows: told !== undefined });
  if (told !== undefined) note(told);
}
