import { Command, Option } from 'commander';
import type { ClusterVersion } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { meantVersion } from '../gates/meant-version.ts';
import type { KubeClient } from '../kube/client.ts';
import type { NamedRelease } from '../preflight/request.ts';
import { terminationSignal } from '../process/parent.ts';
import { type ConnectOptions, withClient, withConnection } from './connect.ts';
import { leave } from './leave.ts';
import { type Format, formatFlag, formatHelp, note, parseFormat, print, printObject } from './output.ts';
import { collectNames, printReport } from './preflight.ts';
import { acceptedHere } from './preflight-accept.ts';
import { exitCodeOf } from './preflight-report.ts';
import { alreadyTold } from './report-standing.ts';
import { type Detail, detailWords } from './upgrade-details.ts';
import { reportCommand } from './upgrade-report.ts';

interface UpgradeOptions extends ConnectOptions {
  readonly to?: string;
  readonly toLatest?: boolean;
  readonly toImage?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly accept?: readonly string[];
  readonly wait?: boolean;
  readonly details?: Detail;
  readonly output?: string;
  readonly detailedExitcode?: boolean;
}

interface RecommendOptions extends ConnectOptions {
  readonly version?: string;
  readonly accept?: readonly string[];
  readonly quiet?: boolean;
  readonly showOutdatedReleases?: boolean;
  readonly output?: string;
}

interface AcceptOptions extends ConnectOptions {
  readonly to?: string;
  readonly reason?: string;
  readonly replace?: boolean;
  readonly clear?: boolean;
}

/** `sluice upgrade [status|recommend|accept|clear]`. */
export function command(): Command {
  const root = new Command().description('Update the cluster, see what it waits for, or why it is refused');
  withConnection(root)
    .option('--to <version>', 'go to this version')
    .option('--to-latest', 'go to the newest version that may be gone to')
    .option('--to-image <reference>', 'go to this payload image, by digest')
    .option(
      '--dry-run',
      'look at everything that would stand against it, and change nothing but its preflight report',
    )
    .option(
      '--force',
      'go through findings; they are written into the history. Never through an untrusted signature',
    )
    .option('--accept <names...>', 'risks that you take, by their names', collectNames)
    .option('--no-wait', 'do not wait for the end of the update')
    .option('--detailed-exitcode', 'exit 4 where it passed with accepted risks or warnings')
    .option(formatFlag, formatHelp)
    .action((options: UpgradeOptions) => withClient(options, (client) => upgrade(client, options)));
  withConnection(root.command('status').description('How far the update is, and what it waits for'))
    .addOption(new Option('--details <what>', 'more of the same picture').choices(detailWords))
    .option(formatFlag, formatHelp)
    .action((_: object, self: Command) => {
      const options = self.optsWithGlobals() as UpgradeOptions;
      return withClient(options, (client) => status(client, options));
    });
  withConnection(root.command('recommend').description('The releases at hand, and what speaks against each'))
    .option('--version <version>', 'this one in full; exits 3 where something stands against it')
    .option('--accept <names...>', 'issues that are taken, by their names', collectNames)
    .option('--quiet', 'print nothing but the names of open issues')
    .option('--show-outdated-releases', 'all releases of a minor version, not the newest two')
    .option(formatFlag, formatHelp)
    .action((_: object, self: Command) => {
      const options = self.optsWithGlobals() as RecommendOptions;
      return withClient(options, (client) => recommend(client, options));
    });
  withConnection(root.command('accept').description('Take risks by their names; NAME- takes one back'))
    .argument('[names...]', 'names of risks, as the report prints them')
    .option('--to <version>', 'the release that they are taken for (default: the one that is asked for)')
    .option('--reason <text>', 'why, for those who read it later')
    .option('--replace', 'exactly these, no others')
    .option('--clear', 'none any more')
    .action((given: string[], _: object, self: Command) => {
      const options = self.optsWithGlobals() as AcceptOptions;
      return withClient(options, (client) => accept(client, given, options));
    });
  withConnection(root.command('clear').description('Take a request back that has not begun')).action(
    (_: object, self: Command) => {
      const options = self.optsWithGlobals() as ConnectOptions;
      return withClient(options, clear);
    },
  );
  root.addCommand(reportCommand());
  root.addHelpText(
    'after',
    `
A request that is refused stands, and goes through by itself once what stands against it is mended; clear takes it
back. Accepting risks, or --force, lets findings pass; neither passes content that is not signed and whole.

Exit codes: 0 done, 3 refused by a finding, 5 could not be completed, 6 the release is not trusted; with
--detailed-exitcode 4 where it passed with accepted risks or warnings.

Examples:
  sluice upgrade                            How the cluster stands, and where it could go
  sluice upgrade --to 1.1.0 --dry-run       Would it work? Runs the checks of 1.1.0, changes nothing
  sluice upgrade --to 1.1.0                 Ctrl-C only ends the watching (exit 130); the update goes on
  sluice upgrade --to-latest --accept EvictionPolicyRemoved
  sluice upgrade accept EvictionPolicyRemoved --to 1.1.0 --reason 'mended in the window'
  sluice upgrade accept EvictionPolicyRemoved-       Takes it back
  sluice upgrade status
  sluice upgrade status --details=nodes
  sluice upgrade recommend
  sluice upgrade recommend --version 1.1.0 --quiet   Names of what stands against it, for scripts
  sluice upgrade report show --out /media/usb        The signed report of the last update, to carry out
  sluice upgrade clear`,
  );
  return root;
}

async function upgrade(client: KubeClient, options: UpgradeOptions): Promise<void> {
  const format = parseFormat(options.output);
  const targets = [options.to, options.toImage, options.toLatest].filter((each) => each !== undefined);
  if (targets.length > 1) throw new SluiceError('Usage', 'give one of --to, --to-latest and --to-image');
  if (targets.length === 0) return await overview(client, options);
  const { nameRelease, sharePreflight } = await import('../preflight/request.ts');
  const { runPreflight } = await import('./preflight-run.ts');
  const request = await import('./upgrade-request.ts');
  const version = await request.readClusterVersion(client);
  const to = options.toLatest === true ? request.latestUpdate(version) : options.to;
  const release = await nameRelease(client, {
    ...(to === undefined ? {} : { to }),
    ...(options.toImage === undefined ? {} : { image: options.toImage }),
  });
  const there = alreadyTold(version, release);
  if (options.dryRun === true) {
    // What would be accepted is judged here, and written only by a request. The report of what the cluster has tells
    // what let it through: a run that leads to nothing must not take its place.
    const found = await runPreflight(client, release, { leavesNothing: there !== undefined });
    if (found === undefined) return;
    const report = acceptedHere(found, options.accept ?? []);
    await printReport(report, format, { nothingFollows: there !== undefined });
    const { acceptanceWarnings } = await import('./upgrade-accept.ts');
    for (const warning of acceptanceWarnings(options.accept ?? [], report, [], to ?? release.image))
      note(warning);
    note(
      there ??
        `nothing was changed but the report ${report.metadata.name}, which others see and an update goes by`,
    );
    process.exitCode = exitCodeOf(report, options.detailedExitcode === true);
    return;
  }
  const shown = release.version ?? release.image;
  if (there !== undefined) {
    return await alreadyThere(client, options, version, release);
  }
  const { accept = [] } = options;
  if (accept.length > 0) await sharePreflight(client, release, { accept });
  const { desireUpdate } = await import('../update/desire.ts');
  const signal = terminationSignal();
  const asked = await desireUpdate(client, release, { force: options.force === true });
  note(`Requested update to ${shown}`);
  const judged = await request.untilJudged(client, asked, release, signal).catch(unlessLeft(signal));
  if (judged === undefined) {
    return leave(`the request for ${shown} stands, and goes through by itself once nothing is against it`, [
      'see how it goes: sluice upgrade status',
      'take it back: sluice upgrade clear',
    ]);
  }
  if (judged.end === 'refused') return await refused(judged, shown, format);
  note(`${shown} is accepted`);
  if (options.wait === false) return note('it goes on by itself; see: sluice upgrade status');
  await follow(client, options, release, signal);
}

/** What was waited for; undefined where the person who waited has left. */
function unlessLeft(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!signal.aborted) throw error;
    return undefined;
  };
}

/** Waits for the end of an update, and says how it was. */
async function follow(
  client: KubeClient,
  options: UpgradeOptions,
  release: NamedRelease,
  signal: AbortSignal,
): Promise<void> {
  const { untilCompleted } = await import('./upgrade-request.ts');
  const done = await untilCompleted(client, release, signal).catch(unlessLeft(signal));
  if (done === undefined) {
    return leave(`the update to ${release.version ?? release.image} goes on by itself`, [
      'see how it goes: sluice upgrade status',
    ]);
  }
  const risks = done.status?.history?.[0]?.acceptedRisks;
  note(`Completed: the cluster runs ${release.version ?? release.image}`);
  if (risks !== undefined && options.detailedExitcode === true) process.exitCode = 4;
}

/** The cluster runs what is asked for, or goes there: a request for something else must not stand beside that. */
async function alreadyThere(
  client: KubeClient,
  options: UpgradeOptions,
  version: ClusterVersion,
  release: NamedRelease,
): Promise<void> {
  const { desireUpdate } = await import('../update/desire.ts');
  const shown = release.version ?? release.image;
  const { pendingWish } = await import('./upgrade-view.ts');
  const other = pendingWish(version);
  if (other !== undefined) {
    await desireUpdate(client, release, { force: false });
    note(`Taken back: the request for ${other.version ?? other.image}.`);
  }
  const isCompleted = version.status?.history?.[0]?.state === 'Completed';
  note(isCompleted ? `the cluster runs ${shown} already` : `the cluster is on its way to ${shown} already`);
  if (isCompleted || options.wait === false) return await status(client, options);
  await follow(client, options, release, terminationSignal());
}

async function refused(
  judged: { untrusted: boolean; message: string },
  shown: string,
  format: Format,
): Promise<void> {
  process.exitCode = judged.untrusted ? 6 : 3;
  const { refusalData, refusalLines } = await import('./upgrade-refusal.ts');
  const data = refusalData(shown, judged.message);
  if (format === 'json' || format === 'yaml') return await printObject(data, format);
  if (format === 'name') return print(data.refusedBy.join('\n'));
  const columns = process.stdout.isTTY && format !== 'wide' ? process.stdout.columns : undefined;
  print(refusalLines(shown, judged.message, columns).join('\n'));
}

async function overview(client: KubeClient, options: UpgradeOptions): Promise<void> {
  await status(client, options);
  const format = parseFormat(options.output);
  if (format !== 'json' && format !== 'yaml' && format !== 'name') {
    print('');
    await recommend(client, options);
  }
}

async function status(client: KubeClient, options: UpgradeOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { readClusterVersion } = await import('./upgrade-request.ts');
  const { versionLines } = await import('./upgrade-view.ts');
  const version = await readClusterVersion(client);
  if (format === 'json' || format === 'yaml') return await printObject(version, format);
  if (format === 'name') return print(`clusterversion/${version.metadata.name}`);
  const now = Date.now();
  const columns = process.stdout.isTTY && format !== 'wide' ? process.stdout.columns : undefined;
  print(versionLines(version, now, columns).join('\n'));
  const isMoving = version.status?.history?.[0]?.state !== 'Completed';
  if (!isMoving && format !== 'wide' && options.details === undefined) return;
  const { updateStatus } = await import('./upgrade-status.ts');
  const detail = options.details ?? (format === 'wide' ? 'all' : 'none');
  const { kinds } = client;
  const [operators, nodes, updates] = await Promise.all([
    client.list(kinds.ClusterOperator),
    client.list(kinds.Node),
    client.list(kinds.NodeUpdate),
  ]);
  const objects = { version, operators: operators.items, nodes: nodes.items, updates: updates.items };
  print(`\n${updateStatus(objects, now, detail).join('\n').trimEnd()}`);
}

async function recommend(client: KubeClient, options: RecommendOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { readClusterVersion } = await import('./upgrade-request.ts');
  const { clusterConcerns, exitOf, recommendations } = await import('./upgrade-recommend.ts');
  const { recommendLines, targetLines } = await import('./upgrade-recommend-view.ts');
  const { knownBundles } = await import('../release/content.ts');
  const { labels } = await import('../api/names.ts');
  const [version, bundles, preflights, nodes] = await Promise.all([
    readClusterVersion(client),
    knownBundles(client),
    client.list(client.kinds.UpdatePreflight),
    client.list(client.kinds.Node, { labelSelector: labels.controlPlane }),
  ]);
  const facts = {
    version,
    bundles,
    preflights: preflights.items,
    controlPlane: nodes.items.length,
    accepted: new Set(options.accept ?? []),
    now: Date.now(),
  };
  const cluster = clusterConcerns(facts);
  const found = recommendations(facts);
  const wanted =
    options.version === undefined ? undefined : found.find((each) => each.version === options.version);
  if (options.version !== undefined && wanted === undefined) {
    const known = found.map((each) => each.version).join(', ') || 'none';
    throw new SluiceError('NotFound', `${options.version} is no other release at hand; at hand: ${known}`, {
      next:
        meantVersion(
          options.version,
          found.map((each) => each.version),
        ) ?? 'Attach media that carry it: sluice media attach PATH --node NODE.',
    });
  }
  const issues = [...cluster.concerns, ...(wanted?.issues ?? [])];
  if (options.version !== undefined || options.quiet === true) process.exitCode = exitOf(issues);
  if (options.quiet === true) {
    const names = new Set(issues.filter((issue) => !issue.accepted).map((issue) => issue.name));
    return names.size === 0 ? undefined : print([...names].sort().join('\n'));
  }
  const data = { concerns: cluster.concerns, releases: wanted === undefined ? found : [wanted] };
  if (format === 'json' || format === 'yaml') return await printObject(data, format);
  if (format === 'name') return print(data.releases.map((each) => each.name).join('\n'));
  const outdated = options.showOutdatedReleases === true || format === 'wide';
  print(
    (wanted === undefined ? recommendLines(cluster, found, { outdated }) : targetLines(cluster, wanted)).join(
      '\n',
    ),
  );
}

async function accept(client: KubeClient, given: readonly string[], options: AcceptOptions): Promise<void> {
  const { changeAccepted } = await import('./upgrade-accept.ts');
  await changeAccepted(client, given, options);
}

async function clear(client: KubeClient): Promise<void> {
  const { readClusterVersion } = await import('./upgrade-request.ts');
  const version = await readClusterVersion(client);
  const wish = version.spec.desiredUpdate;
  if (wish === undefined) return note('Nothing is asked for.');
  const { withdrawUpdate } = await import('../update/desire.ts');
  const { pendingWish } = await import('./upgrade-view.ts');
  await withdrawUpdate(client);
  const [latest] = version.status?.history ?? [];
  note(
    pendingWish(version) === undefined
      ? 'There is nothing to take back: no request is pending.'
      : `Taken back: the request for ${wish.version ?? wish.image ?? 'an update'}.`,
  );
  if (latest !== undefined && latest.state !== 'Completed') {
    note(
      `${latest.version} has begun and goes on: an update cannot be left half way. The way back is to ask for the`,
    );
    note(
      'release before: within a minor version that is let through, else by --accept ClusterVersionRollback.',
    );
  }
}
