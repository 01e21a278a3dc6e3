import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { type Podman, podmanSays } from './podman.ts';

// The values of variables may come from Secrets, and everybody on the host can read command lines. Most go through
// a file that is there only while podman starts; what its format cannot hold goes through podman's own secrets.
// Never through podman's environment: a Pod chooses the names, and some of them change what podman itself does.

/** podman, pkg/env: a line is one variable; `NAME` alone and `NAME*` would copy from podman's own. */
const plainName = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
/** bufio.MaxScanTokenSize is 64 KiB for the whole line. */
const lineBytesMax = 60_000;

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** How a container gets its variables. */
export interface PlacedEnvironment {
  /** Of `podman run`; hold no value. */
  readonly flags: readonly string[];
  /** Once podman has started the container, which then has what it needs. */
  remove(): Promise<void>;
}

/**
 * Puts the variables of a container where only podman finds them.
 * @param name of the container. Errors: InputInvalid, CommandFailed.
 */
export async function placeEnvironment(
  podman: Podman,
  name: string,
  variables: readonly Variable[],
): Promise<PlacedEnvironment> {
  const file = join(directoryOf(podman), name);
  const secrets: string[] = [];
  const remove = async () => {
    await rm(file, { force: true });
    await rm(`${file}-value`, { force: true });
    if (secrets.length > 0) await podman.run(['secret', 'rm', ...secrets]);
  };
  // The last one of a name counts, wherever it is placed.
  const last = [...new Map(variables.map((each) => [each.name, each])).values()];
  const flags = ['--env-file', file];
  try {
    await mkdir(directoryOf(podman), { recursive: true, mode: 0o700 });
    const lines = last.filter(isLine).map((each) => `${each.name}=${each.value}\n`);
    await writeFile(file, lines.join(''), { mode: 0o600 });
    for (const each of last.filter((one) => !isLine(one))) {
      // Commas divide the parts of the flag.
      if (/[,"=]/.test(each.name))
        throw new SluiceError('InputInvalid', `a variable cannot be named ${JSON.stringify(each.name)}`);
      const secret = `${name}-${secrets.length}`;
      // podman takes no socket for its input, which is what a child of Node.js has.
      const source = `${file}-value`;
      await writeFile(source, each.value, { mode: 0o600 });
      const made = await podman.run(['secret', 'create', secret, source]);
      await rm(source);
      if (made.code !== 0) {
        throw new SluiceError('CommandFailed', `the variable ${each.name}: ${podmanSays(made)}`);
      }
      secrets.push(secret);
      flags.push('--secret', `${secret},type=env,target=${each.name}`);
    }
    return { flags, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Removes what a crash left, which no container needs any more. */
export async function forgetEnvironments(podman: Podman): Promise<void> {
  await rm(directoryOf(podman), { recursive: true, force: true });
  if (existsSync(join(podman.dir, 'root', 'secrets'))) await podman.run(['secret', 'rm', '--all']);
}

function directoryOf(podman: Podman): string {
  return join(podman.dir, 'env');
}

function isLine({ name, value }: Variable): boolean {
  return plainName.test(name) && !/[\r\n]/.test(value) && Buffer.byteLength(value) <= lineBytesMax;
}
