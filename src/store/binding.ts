import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { faultPoint } from '../durable/fault.ts';
import { fsyncDirectory, readJson } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { diskError, writeFlushed } from './place.ts';

/** The first accepted digest of a bundle's name. */
export interface Binding {
  readonly name: string;
  readonly bundleDigest: Digest;
}

/** Below the root of a store. */
export const bindingsFolder = join('sluice', 'bindings');

const nameForm = /^[a-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Binds a name, once and for ever; to the same digest again is nothing new. Errors: Conflict, InputInvalid. */
export async function bindName(directory: string, name: string, bundleDigest: Digest): Promise<void> {
  if (!nameForm.test(name)) throw new SluiceError('InputInvalid', `"${name}" cannot be the name of a bundle`);
  await mkdir(directory, { recursive: true });
  const place = join(directory, `${name}.json`);
  const temporary = join(directory, `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await writeFlushed(temporary, `${JSON.stringify({ name, bundleDigest })}\n`);
    faultPoint('store-binding-written');
    await link(temporary, place); // Fails where it stands: of two at once, one binds.
    await fsyncDirectory(directory);
    faultPoint('store-bound');
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw diskError(error, place);
    const bound = await readBinding(place);
    if (bound?.bundleDigest !== bundleDigest) {
      throw new SluiceError(
        'Conflict',
        `the name ${name} stands for the bundle ${bound?.bundleDigest}, and what was offered is ${bundleDigest}`,
        { next: 'A name never changes its content: make the other bundle under another version.' },
      );
    }
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Every binding, sorted by name. */
export async function readBindings(directory: string): Promise<Binding[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  const found: Binding[] = [];
  for (const name of names.filter((entry) => entry.endsWith('.json')).sort()) {
    const binding = await readBinding(join(directory, name));
    if (binding !== undefined) found.push(binding);
  }
  return found;
}

async function readBinding(path: string): Promise<Binding | undefined> {
  const binding = await readJson<Partial<Binding>>(path);
  if (binding === undefined) return undefined;
  if (typeof binding.name !== 'string' || !isDigest(binding.bundleDigest ?? '')) {
    throw new SluiceError('InputInvalid', `${path} does not bind a name to a digest`);
  }
  return binding as Binding;
}
