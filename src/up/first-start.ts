import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forgetReleases } from '../copy/whole.ts';
import { writeDurable } from '../durable/file.ts';
import type { UpLayout } from './layout.ts';
import { leaveNoContainers, nodesBefore } from './leftovers.ts';

const words = 'The first start is not finished: the next one that brings a release begins anew.\n';

/** Marks the beginning of a first start; not where a cluster has written anything before, so that none is ever forgotten. */
export async function noteFirstStart(layout: UpLayout): Promise<void> {
  if (!existsSync(layout.api)) await writeDurable(layout.firstStart, words);
}

/** Its release was applied: from here on what lies there is a cluster's. */
export async function finishFirstStart(layout: UpLayout): Promise<void> {
  await rm(layout.firstStart, { force: true });
}

/**
 * Takes away what a first start that was not finished has left: its release, its keys, its API. False where there was
 * none. Images and containers stay, as at every other start; so do identities and addresses, which fit any release, and
 * the bytes in the stores: a long copy that was cut short goes on.
 */
export async function forgetFirstStart(layout: UpLayout): Promise<boolean> {
  if (!existsSync(layout.firstStart)) return false;
  await leaveNoContainers(layout);
  for (const { dir, containers, store } of await nodesBefore(layout)) {
    await forgetReleases(store);
    for (const entry of await readdir(dir)) {
      if (![containers, store].includes(join(dir, entry))) await remove(join(dir, entry));
    }
  }
  for (const path of [layout.api, layout.trustedKeys, layout.installed]) await remove(path);
  return true;
}

const remove = (path: string) => rm(path, { recursive: true, force: true });
