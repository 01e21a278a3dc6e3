import { labels, names } from '../api/names.ts';
import { type ErrorCode, errorTable, messageOf, SluiceError } from '../errors/error.ts';
import { meantVersion } from '../gates/meant-version.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock } from '../observe/clock.ts';
import { counted } from '../observe/count.ts';
import { terminationSignal } from '../process/parent.ts';
import { knownBundles } from '../release/content.ts';
import { freeableBytes } from '../release/freeable.ts';
import type { KnownBundle } from '../release/known.ts';
import { giveUpRelease, readInUse, refusal, requestRelease } from '../release/request.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import { openClusterContent } from './cluster-content.ts';
import { leave } from './leave.ts';
import {
  type Format,
  humanBytes,
  humanDuration,
  isData,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';
import { createProgress } from './progress.ts';
import type { ReleaseOptions } from './release-options.ts';
import {
  conditionOf,
  matchRelease,
  messageCell,
  type NodeProgress,
  progressRows,
  type ReleaseFacts,
  type ReleaseRow,
  releaseData,
  releaseRows,
  secondsUntilDone,
} from './release-view.ts';

export type Options = ReleaseOptions & { readonly timeoutMs: number | undefined };

const lookMs = 500;
/** Troubles that go by themselves or by a person's hand: worth waiting through. */
const passing: readonly string[] = [
  'MediaLost',
  'Unreachable',
  'Stalled',
  'SomeNodesUnavailable',
  'SomeRegistriesUnavailable',
];

export async function list(client: KubeClient, _: string | undefined, options: Options): Promise<void> {
  const format = parseFormat(options.output);
  const rows = releaseRows(await gather(client));
  if (format === 'json' || format === 'yaml') return await printObject(rows, format);
  if (format === 'name') return print(rows.map((row) => row.name).join('\n'));
  if (rows.length === 0) return note('no node holds a release, and no media are attached');
  const nodes = await controlPlane(client);
  const wide = format === 'wide';
  printTable(
    ['NAME', 'VERSION', 'STATE', 'NODES', 'IN USE', ...(wide ? ['IMAGE'] : []), 'MESSAGE'],
    rows.map((row) => [
      row.name,
      row.version,
      paint(colourOf(row.state), row.state),
      `${row.heldBy.length}/${nodes.length}`,
      row.inUse === undefined ? '' : 'yes',
      ...(wide ? [row.image] : []),
      said(row, wide),
    ]),
  );
}

function said({ message, inUse }: ReleaseRow, wide: boolean): string {
  const text = message === '' && inUse !== undefined ? inUse : message;
  return wide ? text : messageCell(text);
}

function colourOf(state: string): 'green' | 'yellow' | 'red' | 'cyan' {
  if (state === 'Available') return 'green';
  if (state === 'Degraded') return 'red';
  return state === 'Mounted' ? 'cyan' : 'yellow';
}

export async function add(client: KubeClient, text = '', options: Options): Promise<void> {
  const format = parseFormat(options.output);
  const facts = await gather(client);
  const name = resolveName(text, facts);
  const held = facts.bundles.filter((each) => each.heldBy.length > 0).map((each) => each.name);
  const asked = await requestRelease(client, name, held);
  note(asked ? `${name} is asked for` : `${name} was asked for already`);
  if (options.wait !== true) {
    if (!facts.bundles.some((each) => each.name === name)) {
      const waits = waitsForMedia(name, facts);
      note(`  ${waits.message}`);
      note(`  next: ${waits.next}`);
    } else if (!isData(format)) {
      note(`  the nodes copy it now; see how it goes: sluice release status ${text}`);
    }
    return await printAdded(client, name, format);
  }
  const available = await untilAvailable(client, name, options.timeoutMs);
  if (available === undefined) return;
  if (isData(format)) await printAdded(client, name, format);
  else sayAvailable(available.facts, name, available.nodes);
}

/** How the release stands now that it is asked for, where that is wanted as data. */
async function printAdded(client: KubeClient, name: string, format: Format): Promise<void> {
  if (format === 'name') return print(name);
  if (format !== 'json' && format !== 'yaml') return;
  const [facts, nodes, updates] = await Promise.all([
    gather(client),
    controlPlane(client),
    client.list(client.kinds.NodeUpdate),
  ]);
  const row = releaseRows(facts).find((each) => each.name === name);
  if (row !== undefined)
    await printObject(releaseData(row, progressRows(name, updates.items, nodes)), format);
}

/**
 * Shows bars until every node holds it; undefined where a person stopped watching. Errors: what a person must mend;
 * Conflict where somebody takes the request back meanwhile; Timeout.
 */
async function untilAvailable(
  client: KubeClient,
  name: string,
  timeoutMs: number | undefined,
): Promise<{ readonly facts: ReleaseFacts; readonly nodes: number } | undefined> {
  const progress = createProgress();
  const endsAt = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
  const signal = terminationSignal();
  let said = '';
  try {
    for (;;) {
      const [facts, nodes, updates] = await Promise.all([
        gather(client),
        controlPlane(client),
        client.list(client.kinds.NodeUpdate),
      ]);
      if (facts.object?.spec.releases.some((each) => each.name === name) !== true) throw takenBack(name);
      const conditions = facts.object?.status?.releases.find((each) => each.name === name)?.conditions;
      const rows = progressRows(name, updates.items, nodes);
      progress.update(rows);
      if (conditionOf(conditions, 'Available')?.status === 'True') {
        progress.end();
        return { facts, nodes: nodes.length };
      }
      const trouble = conditionOf(conditions, 'Degraded');
      const message = trouble?.status === 'True' ? trouble.message : '';
      const stuck =
        message !== '' && !rows.some((row) => row.state === undefined || row.state === 'verifying');
      if (stuck && !passing.includes(trouble?.reason ?? '') && trouble !== undefined) {
        progress.end();
        if (trouble.reason === 'ReleaseImageNotAvailable') throw waitsForMedia(name, facts);
        throw new SluiceError(codeOf(trouble.reason), `${name}: ${message}`);
      }
      if (stuck && message !== said) {
        progress.end();
        note(`${paint('yellow', 'waiting', process.stderr)}: ${message}`);
        said = message;
      }
      if (Date.now() > endsAt) {
        const stands = conditionOf(conditions, 'Installing')?.message ?? 'nothing is known of it';
        throw new SluiceError('Timeout', `${name} is not available yet: ${stands}`, {
          next: `See which node lacks it, and why: sluice release status ${name}; wait on: sluice release add ${name}.`,
        });
      }
      await systemClock.sleep(lookMs, signal).catch(() => {});
      if (signal.aborted) {
        progress.end();
        leave(`the nodes go on copying ${name}`, [
          `see how it goes: sluice release status ${name}`,
          `give it up: sluice release cancel ${name}`,
        ]);
        return undefined;
      }
    }
  } finally {
    progress.end();
  }
}

function takenBack(name: string): SluiceError {
  return new SluiceError('Conflict', `${name} is not asked for any more: somebody has taken it back`, {
    next: `Ask for it again: sluice release add ${name}.`,
  });
}

/** A request that nothing can answer yet: that it stands, what it waits for, and how it is taken back. */
function waitsForMedia(name: string, { bundles }: ReleaseFacts): SluiceError {
  const at = bundles.map((each) => each.name).join(', ') || 'nothing';
  return new SluiceError(
    'NotFound',
    `the request for ${name} stands and waits: no node holds it, and no attached disk carries it (at hand: ${at})`,
    {
      next: `Attach the disk, and the copy begins by itself: sluice media attach PATH --node NODE. Take the request back: sluice release cancel ${name}.`,
    },
  );
}

function codeOf(reason: string): ErrorCode {
  if (reason === 'BundleConflict') return 'Conflict';
  return reason in errorTable ? (reason as ErrorCode) : 'Blocked';
}

function sayAvailable(facts: ReleaseFacts, name: string, nodes: number): void {
  const row = releaseRows(facts).find((each) => each.name === name);
  const held = nodes === 1 ? 'the only node holds it' : `${nodes} of ${nodes} nodes hold it`;
  note(`${name} is ${paint('green', 'available', process.stderr)}: ${held}, every byte verified`);
  if (row?.diskFree === true) note('it is safe to remove the disk now');
  // The release that runs, or that is being updated to, needs no such advice.
  if (row !== undefined && row.inUse === undefined)
    note(`  next: sluice upgrade --to ${row.version} --dry-run`);
}

export async function remove(client: KubeClient, text = '', options: Options): Promise<void> {
  const format = parseFormat(options.output);
  const facts = await gather(client);
  const name = resolveName(text, facts, 'See what the nodes hold: sluice release ls');
  const bundle = facts.bundles.find((each) => each.name === name && each.heldBy.length > 0);
  const bytes = bundle === undefined ? undefined : await wouldFree(client, bundle, facts, options);
  const holders = bundle?.heldBy.length ?? 0;
  const nodes = counted(holders, 'node');
  const amount =
    bytes === undefined
      ? ''
      : ` and frees ${humanBytes(bytes)} on ${holders === 1 ? nodes : `each of ${nodes}`}`;
  /** Prints it as data where that is wanted; answers whether it was. */
  const told = async (state: 'MayGo' | 'Removing' | 'Removed') => {
    if (format === 'name') print(name);
    else if (format === 'json' || format === 'yaml') {
      await printObject({ name, state, nodes: bundle?.heldBy ?? [], bytesOnEach: bytes }, format);
    }
    return isData(format);
  };
  if (options.dryRun === true) {
    const against = await refusal(client, name);
    if (against === undefined && (await told('MayGo'))) return;
    if (against === undefined) return note(`${name} may go${amount} (nothing was removed)`);
    if (amount !== '') note(`without ${name} there would be ${humanBytes(bytes ?? 0)} more on each node`);
    throw against;
  }
  await giveUpRelease(client, name);
  if (options.wait === false || bundle === undefined) {
    if (await told(bundle === undefined ? 'Removed' : 'Removing')) return;
    note(`${name} is given up${amount}`);
    return note('  the nodes remove it now; see how it stands: sluice release ls');
  }
  if (!(await untilRemoved(client, name, options.timeoutMs ?? 0)))
    return leave(`the nodes go on removing ${name}`, ['see how it stands: sluice release ls']);
  if (await told('Removed')) return;
  const freed =
    bytes === undefined ? '' : `, ${humanBytes(bytes)} are freed${holders === 1 ? '' : ' on each'}`;
  note(`${name} is removed from ${nodes}${freed}`);
}

/** Answers false where a person stopped watching. */
async function untilRemoved(client: KubeClient, name: string, timeoutMs: number): Promise<boolean> {
  const endsAt = Date.now() + timeoutMs;
  const signal = terminationSignal();
  for (;;) {
    const left = (await knownBundles(client)).find((each) => each.name === name)?.heldBy ?? [];
    if (left.length === 0) return true;
    if (signal.aborted) return false;
    if (Date.now() > endsAt) {
      throw new SluiceError('Timeout', `${name} is still on ${left.join(', ')}`, {
        next: `See how it stands there: sluice release status ${name}; ask again: sluice release rm ${name}.`,
      });
    }
    await systemClock.sleep(lookMs, signal).catch(() => {});
  }
}

/** Undefined where it cannot be found out: to remove does not depend on it. */
async function wouldFree(
  client: KubeClient,
  bundle: KnownBundle,
  facts: ReleaseFacts,
  options: Options,
): Promise<number | undefined> {
  const content = await openClusterContent(client, options);
  try {
    const others = facts.bundles.filter((each) => each.heldBy.length > 0 && each.name !== bundle.name);
    return await freeableBytes(
      content,
      await trustedKeys(client),
      bundle.bundleDigest,
      others.map((each) => each.bundleDigest),
    );
  } catch (error) {
    note(`what it frees cannot be told: ${messageOf(error)}`);
    return undefined;
  } finally {
    await content.close();
  }
}

export async function status(client: KubeClient, text: string | undefined, options: Options): Promise<void> {
  const format = parseFormat(options.output);
  const facts = await gather(client);
  const all = releaseRows(facts);
  const rows = text === undefined ? all : all.filter((row) => row.name === resolveName(text, facts));
  const [nodes, updates] = await Promise.all([controlPlane(client), client.list(client.kinds.NodeUpdate)]);
  const progress = (row: ReleaseRow) => progressRows(row.name, updates.items, nodes);
  if (format === 'json' || format === 'yaml') {
    return await printObject(
      rows.map((row) => releaseData(row, progress(row))),
      format,
    );
  }
  if (format === 'name') return print(rows.map((row) => row.name).join('\n'));
  for (const [index, row] of rows.entries()) {
    if (index > 0) print('');
    printRelease(row, facts);
    printProgress(progress(row));
    if (row.diskFree) print('  It is safe to remove the disk now.');
  }
  if (rows.length === 0) note('no node holds a release, and no media are attached');
}

function printProgress(rows: readonly NodeProgress[]): void {
  printTable(
    ['  NODE', 'STATE', 'DONE', 'OF', 'IMAGES', 'RATE', 'LEFT'],
    rows.map((each) => [
      `  ${each.label}`,
      each.state ?? 'copying',
      humanBytes(each.done),
      humanBytes(each.total),
      each.images === undefined ? '' : `${each.images.done}/${each.images.total}`,
      each.rate === undefined ? '' : `${humanBytes(each.rate)}/s`,
      each.secondsLeft === undefined ? '' : humanDuration(each.secondsLeft * 1000),
    ]),
  );
  const left = secondsUntilDone(rows);
  if (left !== undefined) print(`  About ${humanDuration(left * 1000)} are left until every node holds it.`);
}

function printRelease(row: ReleaseRow, facts: ReleaseFacts): void {
  print(`${paint('bold', row.name)}  ${paint(colourOf(row.state), row.state)}`);
  if (row.image !== '') print(`  image   ${row.image}`);
  if (row.inUse !== undefined) print(`  in use  ${row.inUse}`);
  const conditions = facts.object?.status?.releases.find((each) => each.name === row.name)?.conditions ?? [];
  for (const { type, status: value, message } of conditions) {
    if (value === 'True' || type === 'Available')
      print(`  ${type}: ${value}${message === '' ? '' : `: ${message}`}`);
  }
}

export async function gather(client: KubeClient): Promise<ReleaseFacts> {
  const { internalReleaseImage } = names(client.platform);
  const [object, bundles, inUse] = await Promise.all([
    client.tryGet(client.kinds.InternalReleaseImage, internalReleaseImage),
    knownBundles(client),
    readInUse(client),
  ]);
  return { object, bundles, inUse: inUse?.names ?? new Map() };
}

export async function controlPlane(client: KubeClient): Promise<string[]> {
  const { items } = await client.list(client.kinds.Node, { labelSelector: labels.controlPlane });
  return items.map((node) => node.metadata.name).sort();
}

/** Errors: NotFound with what is at hand; Usage where a version stands for several. */
export function resolveName(
  text: string,
  facts: ReleaseFacts,
  next = 'Attach media that carry it: sluice media attach PATH --node NODE',
): string {
  const known = releaseRows(facts).map((row) => row.name);
  const found = matchRelease(text, known);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) {
    throw new SluiceError('Usage', `${text} stands for ${found.join(' and ')}`, {
      next: 'Name one of them in full.',
    });
  }
  const at = known.length === 0 ? 'nothing is at hand' : `at hand: ${known.join(', ')}`;
  const meant = meantVersion(text, [...new Set(releaseRows(facts).map((row) => row.version))]);
  throw new SluiceError('NotFound', `there is no release ${text} (${at})`, { next: meant ?? next });
}
