import type { NodeUpdate } from '../api/resources.ts';
import type { WindowState } from '../api/window.ts';
import type { MarkerLook } from '../finalize/marker.ts';
import type { PoolStatus } from '../rollout/pool-controller.ts';
import { type Format, isData, print, printObject } from './output.ts';

/** How the window of a node stands, as data. */
export interface WindowRow {
  readonly node: string;
  readonly state: WindowState;
  readonly window: NodeUpdate['spec']['window'];
}

/** Prints windows of nodes where they are asked for as data; answers whether they were. */
export async function printNodes(rows: readonly WindowRow[], format: Format): Promise<boolean> {
  if (format === 'json' || format === 'yaml') await printObject(rows, format);
  else if (format === 'name') printNames(rows.map(({ node }) => `nodeupdate/${node}`));
  return isData(format);
}

/** The same of this host's window. */
export async function printHost(path: string, look: MarkerLook, format: Format): Promise<boolean> {
  if (format === 'json' || format === 'yaml') {
    await printObject({ path, state: look.kind === 'allowed' ? 'open' : 'closed', ...look }, format);
  } else if (format === 'name') print(path);
  return isData(format);
}

/** The same of windows of pools. */
export async function printPools(pools: readonly PoolStatus[], format: Format): Promise<boolean> {
  if (format === 'json' || format === 'yaml') {
    const time = (at: number | undefined) => (at === undefined ? {} : { at: new Date(at).toISOString() });
    await printObject(
      pools.map(({ at, ...pool }) => ({ ...pool, ...time(at) })),
      format,
    );
  } else if (format === 'name') printNames(pools.map(({ pool }) => `machineconfigpool/${pool}`));
  return isData(format);
}

function printNames(names: readonly string[]): void {
  if (names.length > 0) print(names.join('\n'));
}
