import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { claimFile } from '../durable/claim.ts';
import { SluiceError } from '../errors/error.ts';
import { endContainers } from '../workload/probe.ts';
import type { NodePlan, UpLayout } from './layout.ts';
import { readState, runningState } from './state.ts';

/** Milliseconds that a container has to end by itself. */
const graceMs = 1_000;

/** The nodes that ever were in this directory, however many this start has; their addresses mean nothing. */
export async function nodesBefore(layout: UpLayout): Promise<readonly NodePlan[]> {
  const folder = layout.nodes(1, 0).map(({ dir }) => dirname(dir))[0] ?? layout.dir;
  return layout.nodes(existsSync(folder) ? (await readdir(folder)).length : 0, 0);
}

/** The nodes end their own containers; this is for those of a node that was killed. */
export async function leaveNoContainers(layout: UpLayout): Promise<void> {
  for (const { containers } of await nodesBefore(layout)) {
    if (existsSync(containers)) await endContainers(containers, graceMs);
  }
}

/**
 * Ends what a cluster that was killed has left: containers and mounts. False where no cluster was ever started from
 * this directory. Errors: Conflict where one is being started from it, or runs.
 */
export async function clearLeftovers(layout: UpLayout): Promise<boolean> {
  if ((await readState(layout)) === undefined) return false;
  const claim = await claimFile(layout.claim);
  if (claim === undefined || (await runningState(layout)) !== undefined) {
    claim?.release();
    throw new SluiceError('Conflict', `a cluster is just being started from ${layout.dir}`, {
      next: 'Wait until it runs, or has ended; then do this again.',
    });
  }
  try {
    await leaveNoContainers(layout);
  } finally {
    claim.release();
  }
  return true;
}
