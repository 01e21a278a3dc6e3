import { type DraftCondition, nameList, stampConditions } from './conditions.ts';
import type { Troubles } from './precedence.ts';
import { copyMessage } from './progress.ts';
import type { AggregationInput, ReleaseStatus } from './report.ts';
import { isNowhere, type ReleaseView, releaseTrouble } from './view.ts';

/** What is said of one release: its image and its five conditions, in the order in which they come true. */
export function releaseStatus(
  release: ReleaseView,
  troubles: Troubles,
  input: AggregationInput,
): ReleaseStatus {
  const available = availableCondition(release, troubles, input);
  const drafts = [
    mountedCondition(release, input),
    installingCondition(release, input),
    available,
    removingCondition(release, input),
    degradedCondition(release, available, troubles),
  ];
  const image = imageOf(release, input);
  return {
    name: release.name,
    ...(image === undefined ? {} : { image }),
    conditions: stampConditions(release.previous?.conditions, drafts, input.now),
  };
}

/** By digest, in the api-int form; what was known stays known. */
function imageOf(release: ReleaseView, input: AggregationInput): string | undefined {
  // A wrong name would be worse than none; the schema refuses one without a host.
  if (input.apiInt.host === undefined) return release.previous?.image;
  const payloads = new Set([...release.reports.values()].flatMap((report) => report.payload ?? []));
  const [payload] = payloads;
  if (payload === undefined || payloads.size > 1) return release.previous?.image;
  return `${input.apiInt.host}/openshift/release-images@${payload}`;
}

function mountedCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Mounted';
  if (release.mounted.length === 0) {
    return { type, status: 'False', reason: 'NotMounted', message: 'No attached media carry it' };
  }
  const where = release.mounted.length === 1 ? 'node' : 'nodes';
  const found = `Release ${release.name} discovered on ${where} ${release.mounted.join(', ')}`;
  const update = input.updates?.get(release.name);
  const signature = input.signatures?.get(release.name)?.message;
  const message = [found, deltaWords(release, input), update, signature]
    .filter((each) => each !== undefined)
    .join('. ');
  return { type, status: 'True', reason: 'Mounted', message };
}

/** Where every medium that carries it is a delta: what must be there already, and where it is not. */
function deltaWords(release: ReleaseView, input: AggregationInput): string | undefined {
  const since = release.mounted.map((node) => release.reports.get(node)?.deltaSince);
  const bases = [...new Set(since.flatMap((each) => each ?? []))].sort();
  if (since.some((each) => each === undefined) || release.held.length === input.nodes.length)
    return undefined;
  const lacking = input.nodes.filter((node) =>
    bases.some((base) => node.releases.find((each) => each.name === base)?.held !== true),
  );
  const needs = `It is a delta that needs ${bases.join(' and ')}`;
  if (lacking.length === 0) return `${needs}, which every node holds`;
  return `${needs}, not held by ${nameList(lacking.map((node) => node.name))}`;
}

/** Whoever watches a copy, or looks for a release to go to, learns here that no update to it begins. */
function refusalWords(release: ReleaseView, input: AggregationInput): string {
  const word = input.signatures?.get(release.name);
  if (word === undefined || word.good) return '';
  return `. ${word.message}; an update to it is refused unless it is forced`;
}

function installingCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Installing';
  const refused = refusalWords(release, input);
  const held = `Held whole and verified by ${release.held.length} of ${input.nodes.length} nodes`;
  const tally = held + refused;
  const begun = release.copying.flatMap((node) => release.reports.get(node)?.copy ?? []);
  const copies = begun.filter((copy) => copy.state !== 'Failed');
  if (copies.length > 0) {
    const paused = copies.every((copy) => copy.state === 'Paused');
    return {
      type,
      status: 'True',
      reason: paused ? 'Paused' : 'Copying',
      message: copyMessage(copies, { held: release.held.length, nodes: input.nodes.length }) + refused,
    };
  }
  if (begun.length > 0) return { type, status: 'False', reason: 'CopyFailed', message: tally };
  if (release.wanted && release.lacking.length > 0 && !isNowhere(release)) {
    return {
      type,
      status: 'True',
      reason: 'Waiting',
      message: `${held}; not yet begun on ${nameList(release.lacking)}${refused}`,
    };
  }
  const done = release.held.length === input.nodes.length && input.nodes.length > 0;
  return { type, status: 'False', reason: done ? 'Installed' : 'NotInstalling', message: tally };
}

function availableCondition(
  release: ReleaseView,
  troubles: Troubles,
  input: AggregationInput,
): DraftCondition {
  const type = 'Available';
  const unavailable = 'The specified release image is not available';
  if (troubles.has('ApiIntNotAvailable')) {
    return { type, status: 'False', reason: 'ApiIntNotAvailable', message: unavailable };
  }
  const allMute = input.nodes.every((node) => !node.registryReachable);
  if (allMute || release.conflict || release.held.length + release.unknown.length === 0) {
    return { type, status: 'False', reason: 'ReleaseImageNotAvailable', message: unavailable };
  }
  if (release.lacking.length > 0) {
    const message = `${unavailable} on ${release.lacking.length} of ${input.nodes.length} nodes: ${nameList(release.lacking)}`;
    return { type, status: 'False', reason: 'ReleaseImageNotAvailable', message };
  }
  const wasAvailable = release.previous?.conditions.find((condition) => condition.type === type)?.status;
  if (release.unknown.length > 0 && wasAvailable !== 'True') {
    const message = `Not yet verified on ${nameList(release.unknown)}`;
    return { type, status: 'Unknown', reason: 'NotVerified', message };
  }
  return {
    type,
    status: 'True',
    reason: 'ReleaseImageAvailable',
    message: 'The specified release image is available',
  };
}

function removingCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Removing';
  if (
    release.removing.length > 0 ||
    (!release.wanted && release.held.length > 0 && !isKept(release, input))
  ) {
    const left = release.held.length > 0 ? release.held : release.removing;
    const message = `Being removed from ${left.length} of ${input.nodes.length} nodes: ${nameList(left)}`;
    return { type, status: 'True', reason: 'Removing', message };
  }
  if (input.inUse === undefined) {
    const message = 'It cannot be told whether it is in use, so it is kept';
    return { type, status: 'False', reason: 'InUseUnknown', message };
  }
  const use = input.inUse.get(release.name);
  if (use !== undefined) return { type, status: 'False', reason: 'InUse', message: `In use: ${use}` };
  return { type, status: 'False', reason: 'NotRemoving', message: 'Not in use' };
}

function isKept(release: ReleaseView, input: AggregationInput): boolean {
  return input.inUse === undefined || input.inUse.has(release.name);
}

function degradedCondition(
  release: ReleaseView,
  available: DraftCondition,
  troubles: Troubles,
): DraftCondition {
  const type = 'Degraded';
  if (troubles.has('ApiIntNotAvailable')) {
    const reason = 'ApiIntNotAvailable';
    return { type, status: 'True', reason, message: reason };
  }
  const trouble = releaseTrouble(release);
  for (const reason of ['SomeNodesUnavailable', 'SomeRegistriesUnavailable'] as const) {
    const message = troubles.get(reason);
    if (message === undefined) continue;
    // The reason is the cluster's; what is wrong with the release itself is not hidden behind it.
    const own = trouble === undefined ? '' : ` ${trouble.message}`;
    return { type, status: 'True', reason, message: `${message}${own}` };
  }
  if (trouble !== undefined) return { type, status: 'True', ...trouble };
  if (isNowhere(release)) {
    return {
      type,
      status: 'True',
      reason: 'ReleaseImageNotAvailable',
      message: 'The specified release image is not available: attach media that carry it',
    };
  }
  const reason = available.status === 'True' ? 'ReleaseImageAvailable' : 'AsExpected';
  return { type, status: 'False', reason, message: reason };
}
