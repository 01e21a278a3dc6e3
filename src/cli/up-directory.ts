import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { shellWord } from '../process/shell.ts';
import { isPackaged, shippedRoot } from '../program/files.ts';

/** Where `sluice up` keeps its cluster when nobody says otherwise. */
export const upDirectoryDefault = '/var/lib/sluice/up';
/** Below the place of `./quickstart`: the cluster that it leaves running with `--keep`. */
const quickstartCluster = '.quickstart/cluster';

export interface UpDirectoryOptions {
  /** Directory of `sluice up`. */
  readonly dir?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

/**
 * Directories of `sluice up` in the order in which they are looked at. `named`: it is the one that was given, or that
 * whose kubeconfig is in use (its state lies beside it), so that no other cluster of this machine is meant.
 */
export function findUpDirectories(
  options: UpDirectoryOptions,
  environment: NodeJS.ProcessEnv,
): { readonly named: boolean; readonly directories: readonly string[] } {
  if (options.dir !== undefined) return { named: true, directories: [resolve(options.dir)] };
  const kubeconfigs =
    options.kubeconfig === undefined ? (environment.KUBECONFIG ?? '').split(delimiter) : [options.kubeconfig];
  const beside = kubeconfigs.filter((path) => path !== '').map((path) => dirname(resolve(path)));
  const ofUp = beside.filter((directory) => existsSync(join(directory, 'state.json')));
  if (ofUp.length > 0) return { named: true, directories: ofUp };
  return { named: false, directories: [...beside, upDirectoryDefault] };
}

/** Directories in which a cluster of this machine may have been made. */
export function clusterPlaces(): string[] {
  const checkouts = [process.cwd(), ...(isPackaged ? [] : [shippedRoot])];
  const made = checkouts.map((place) => join(place, quickstartCluster));
  return [...new Set([...made, upDirectoryDefault])];
}

/** What to do where there is no kubeconfig: names those of the clusters that were made in `places`. */
export function nextWithoutKubeconfig(places: readonly string[]): string {
  const ofMachine = clusterOfMachine(places);
  return ofMachine === undefined
    ? 'Give one with --kubeconfig, or set KUBECONFIG: sluice up and ./quickstart --keep print theirs.'
    : `${ofMachine} For another: --kubeconfig FILE.`;
}

/**
 * What to do where no directory of `sluice up` was found: as without a kubeconfig, where nobody has named one and a
 * cluster was made in `places`; else `otherwise`.
 */
export function nextWithoutDirectory(isNamed: boolean, places: readonly string[], otherwise: string): string {
  const ofMachine = isNamed ? undefined : clusterOfMachine(places);
  return ofMachine === undefined ? otherwise : `${ofMachine} For another: --dir DIR.`;
}

function clusterOfMachine(places: readonly string[]): string | undefined {
  const found = places.map((place) => join(place, 'kubeconfig')).filter((file) => existsSync(file));
  if (found.length === 0) return undefined;
  const commands = found.map((file) => `export KUBECONFIG=${shellWord(file)}`).join(', or: ');
  return `For the cluster of this machine: ${commands}.`;
}

/** The `sluice up` of the kubeconfig in use, else one that was made in `places`; undefined where there is none. */
export function upOfMachine(
  environment: NodeJS.ProcessEnv,
  places: readonly string[] = clusterPlaces(),
): string | undefined {
  const looked = [...findUpDirectories({}, environment).directories, ...places];
  return looked.find((place) => existsSync(join(place, 'state.json')));
}

/** Whoever has a cluster on his machine may take the words about this host for words about that. */
export function hostNote(cluster: string | undefined, elsewhere: string): string {
  const about = 'about THIS HOST, not about a cluster';
  if (cluster === undefined) return `${about} (${elsewhere})`;
  const command = `export KUBECONFIG=${shellWord(join(cluster, 'kubeconfig'))}`;
  return `${about}; for the cluster of this machine: ${command}, then again (${elsewhere})`;
}

/** The same of `sluice node config`, which no kubeconfig changes: it reads directories. */
export function hostConfigNote(cluster: string | undefined): string {
  const about = "about THIS HOST's agent, not about a node of a cluster";
  if (cluster === undefined) return `${about} (other directories: --config-dir DIR)`;
  const directory = join(cluster, 'nodes', 'master-0', 'config.d');
  return `${about}; for one of the cluster of this machine: --config-dir ${shellWord(directory)}`;
}
