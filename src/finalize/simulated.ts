import { join } from 'node:path';
import { readJson, writeJson } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import type { OsDeployment, OsDriver, OsStatus } from './driver.ts';

interface State extends OsStatus {
  /** Set by `finalize`: the staged deployment is the one to boot. */
  readonly finalized?: boolean;
  /** The boot in which this state was last seen. */
  readonly bootID?: string;
}

/**
 * The `simulated` driver: a node whose operating system is a file, for rehearsals. It pulls the image's manifest
 * from the node's registry, as a real one would pull the whole, and its reboot is the end of the process.
 *
 * @param options.pull fetches the image's facts by digest; throws where the image cannot be had.
 * @param options.reboot ends the node's process; the supervisor starts it again with a new boot id.
 */
export function simulatedDriver(options: {
  readonly dir: string;
  readonly pull: (image: string) => Promise<{ version?: string }>;
  readonly reboot: () => void;
}): OsDriver {
  const file = join(options.dir, 'os.json');
  const read = async (): Promise<State> => (await readJson<State>(file)) ?? {};
  return {
    name: 'simulated',
    rebootsHost: false,
    status: read,
    async stage(image, digest) {
      const state = await read();
      if (state.staged?.digest === digest) return;
      const { version } = await options.pull(image);
      const staged: OsDeployment = { image, digest, ...(version === undefined ? {} : { version }) };
      const { finalized: _, ...rest } = state;
      await writeJson(file, { ...rest, staged });
    },
    async finalize(digest) {
      const state = await read();
      if (state.staged?.digest !== digest) {
        const found = state.staged?.digest ?? 'nothing';
        throw new SluiceError('Conflict', `expected ${digest} to be staged, but found ${found}`);
      }
      await writeJson(file, { ...state, finalized: true });
      options.reboot();
      return { kind: 'ordered' };
    },
  };
}

/** What the firmware does at a boot: a new boot id boots what was finalized; a restart in the same boot does not. */
export async function bootSimulated(dir: string, bootID: string): Promise<void> {
  const file = join(dir, 'os.json');
  const state = (await readJson<State>(file)) ?? {};
  if (state.bootID === bootID) return;
  const { booted, staged, finalized } = state;
  if (finalized === true && staged !== undefined) await writeJson(file, { booted: staged, bootID });
  else await writeJson(file, { ...(booted === undefined ? {} : { booted }), bootID }); // What was held is gone, as with bootc.
}

/** The operating system that a simulated node is installed with; a node that has one keeps it. */
export async function installSimulated(dir: string, booted: OsDeployment): Promise<void> {
  const file = join(dir, 'os.json');
  if ((await readJson<State>(file)) === undefined) await writeJson(file, { booted });
}
