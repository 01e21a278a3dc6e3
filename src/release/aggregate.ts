import { type DraftCondition, nameList, stampConditions } from './conditions.ts';
import { type DegradedReason, degradedPrecedence, type Troubles } from './precedence.ts';
import { releaseStatus } from './release-status.ts';
import type { AggregationInput, ReleaseImageStatus } from './report.ts';
import { isNowhere, type ReleaseView, releaseTrouble, viewOf } from './view.ts';

/** Entries at most (schema: maxItems of status.releases). */
const entriesMax = 32;

/**
 * What the cluster as a whole says of its releases, from what every control-plane node says of them. Available
 * is True only when every one of them holds every verified byte; a node that cannot be reached keeps its last
 * verified word and makes the release Degraded instead.
 */
export function aggregate(input: AggregationInput): ReleaseImageStatus {
  const views = releaseNames(input).map((name) => viewOf(name, input));
  const troubles = clusterTroubles(input, views);
  const releases = views.map((release) => releaseStatus(release, troubles, input));
  return {
    conditions: stampConditions(input.previous?.conditions, [clusterDegraded(troubles, views)], input.now),
    releases,
  };
}

/** What is shown: asked for first, then held or being handled, then merely seen on media. */
function releaseNames(input: AggregationInput): string[] {
  const held = new Set<string>();
  const seen = new Set<string>();
  for (const report of input.nodes.flatMap((node) => node.releases)) {
    if (report.held !== false || report.copy !== undefined || report.removing) held.add(report.name);
    else if (report.mounted) seen.add(report.name);
  }
  return [...new Set([...input.spec, ...[...held].sort(), ...[...seen].sort()])].slice(0, entriesMax);
}

function clusterTroubles(input: AggregationInput, views: readonly ReleaseView[]): Troubles {
  const troubles = new Map<DegradedReason, string>();
  const down = input.nodes.filter((node) => !node.ready).map((node) => node.name);
  const mute = input.nodes.filter((node) => !node.registryReachable).map((node) => node.name);
  if (input.syncError !== undefined) {
    troubles.set('SyncError', `Error syncing InternalReleaseImage: ${input.syncError}`);
  }
  if (input.nodes.length === 0) {
    troubles.set('NoControlPlaneNodes', 'No control-plane node has registered itself');
  }
  // A name that leads nowhere is a trouble of its own only while something stands behind it.
  if (input.apiInt.reachable === false && mute.length < input.nodes.length) {
    // Upstream's scenario names the host alone.
    const host = input.apiInt.host?.replace(/:\d+$/, '') ?? 'the name that all share';
    troubles.set('ApiIntNotAvailable', `Unable to reach any registry via ${host}`);
  }
  if (down.length > 0) {
    troubles.set('SomeNodesUnavailable', `The following nodes are not ready: ${nameList(down)}.`);
  }
  if (mute.length > 0) {
    troubles.set(
      'SomeRegistriesUnavailable',
      `The following nodes are degraded: ${nameList(mute)}. See the related MachineConfigNode resource status for more details.`,
    );
  }
  const ill = views
    .filter((release) => release.wanted || release.held.length > 0)
    .flatMap((release) => {
      const trouble = releaseTrouble(release);
      return trouble === undefined ? [] : [`${release.name}: ${trouble.message}`];
    });
  if (ill.length > 0) troubles.set('SomeReleasesDegraded', ill.join('; '));
  const nowhere = views.filter((release) => isNowhere(release));
  if (nowhere.length > 0) {
    troubles.set(
      'ReleaseImageNotAvailable',
      `No node and no attached media carry ${nameList(nowhere.map((release) => release.name))}`,
    );
  }
  return troubles;
}

function clusterDegraded(troubles: Troubles, views: readonly ReleaseView[]): DraftCondition {
  const reason = degradedPrecedence.find((each) => troubles.has(each));
  if (reason !== undefined) {
    return { type: 'Degraded', status: 'True', reason, message: troubles.get(reason) ?? reason };
  }
  const coming = views.filter((release) => release.wanted && release.lacking.length > 0);
  if (coming.length > 0) {
    const message = `Being copied to the control-plane nodes: ${nameList(coming.map((each) => each.name))}`;
    return { type: 'Degraded', status: 'False', reason: 'Installing', message };
  }
  return {
    type: 'Degraded',
    status: 'False',
    reason: 'AllReleasesAvailable',
    message: 'All the release images are available',
  };
}
