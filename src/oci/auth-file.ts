import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { run } from '../process/run.ts';
import { parseStrictJson } from './json.ts';

// The files in which podman, skopeo and docker keep the passwords of registries: containers-auth.json(5), and the
// `auths`, `credHelpers` and `credsStore` of docker's config.json.

/** How a client proves itself to a registry. */
export type Credentials =
  | { readonly username: string; readonly password: string }
  /** An OAuth2 refresh token, as docker login keeps it for some registries. */
  | { readonly identityToken: string };

const fileBytesMax = 4 * 1024 * 1024;
const helperTimeoutMs = 30_000;
const helperNameForm = /^[A-Za-z0-9._-]+$/;

interface AuthFile {
  readonly path: string;
  readonly auths: ReadonlyMap<string, Record<string, unknown>>;
  readonly helpers: ReadonlyMap<string, string>;
  readonly store: string | undefined;
}

/** Where passwords are looked for, in this order (containers-auth.json(5)). Only a named file must exist. */
export function authFilePaths(
  env: NodeJS.ProcessEnv,
  named?: string,
): readonly { path: string; required: boolean }[] {
  if (named !== undefined) return [{ path: named, required: true }];
  if (env.REGISTRY_AUTH_FILE) return [{ path: env.REGISTRY_AUTH_FILE, required: true }];
  const home = env.HOME ?? '/root';
  const paths = [
    ...(env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, 'containers', 'auth.json')] : []),
    `/run/containers/${process.getuid?.() ?? 0}/auth.json`,
    join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'containers', 'auth.json'),
    join(env.DOCKER_CONFIG ?? join(home, '.docker'), 'config.json'),
  ];
  return [...new Set(paths)].map((path) => ({ path, required: false }));
}

/** Finds credentials for one repository. Errors: NotFound, InputInvalid, CommandFailed. */
export interface CredentialFinder {
  find(host: string, repository: string): Promise<Credentials | undefined>;
}

/** Reads each file once, when it is first needed. */
export function createCredentialFinder(
  paths: readonly { path: string; required: boolean }[],
): CredentialFinder {
  let files: Promise<AuthFile[]> | undefined;
  const readAll = async () => {
    const found = await Promise.all(paths.map(({ path, required }) => readAuthFile(path, required)));
    return found.filter((file) => file !== undefined);
  };
  return {
    async find(host, repository) {
      files ??= readAll();
      for (const file of await files) {
        const found = await findIn(file, host, repository);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

async function findIn(file: AuthFile, host: string, repository: string): Promise<Credentials | undefined> {
  const helper = file.helpers.get(host);
  if (helper !== undefined) return await askHelper(helper, host);
  // The longest key that holds the repository; parts are compared whole, so that no host gets another's password.
  const parts = [host, ...repository.split('/')];
  for (let length = parts.length; length > 0; length -= 1) {
    const entry = file.auths.get(parts.slice(0, length).join('/'));
    const found = entry === undefined ? undefined : credentialsOf(entry, file.path);
    if (found !== undefined) return found;
  }
  return file.store === undefined ? undefined : await askHelper(file.store, host);
}

async function readAuthFile(path: string, required: boolean): Promise<AuthFile | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if (!required && ['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return undefined;
    throw new SluiceError('NotFound', `the file of passwords ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (bytes.length > fileBytesMax)
    throw new SluiceError('InputTooLarge', `${path} has ${bytes.length} bytes`);
  const document = recordOf(parseStrictJson(bytes, path));
  if (document === undefined) throw new SluiceError('InputInvalid', `${path} is not an object`);
  const auths = new Map<string, Record<string, unknown>>();
  for (const [key, value] of Object.entries(recordOf(document.auths) ?? {})) {
    const entry = recordOf(value);
    if (entry !== undefined) auths.set(plainKey(key), entry);
  }
  const helpers = new Map<string, string>();
  for (const [key, value] of Object.entries(recordOf(document.credHelpers) ?? {})) {
    if (typeof value === 'string') helpers.set(plainKey(key), value);
  }
  const store =
    typeof document.credsStore === 'string' && document.credsStore !== '' ? document.credsStore : undefined;
  return { path, auths, helpers, store };
}

/** Docker writes keys as addresses (`https://index.docker.io/v1/`): their host is what counts. */
function plainKey(key: string): string {
  const address = /^https?:\/\/([^/]+)/.exec(key)?.[1];
  if (address === undefined) return key.replace(/\/+$/, '');
  return address === 'index.docker.io' ? 'docker.io' : address;
}

function credentialsOf(entry: Record<string, unknown>, path: string): Credentials | undefined {
  if (typeof entry.identitytoken === 'string' && entry.identitytoken !== '') {
    return { identityToken: entry.identitytoken };
  }
  if (typeof entry.username === 'string' && typeof entry.password === 'string') {
    return { username: entry.username, password: entry.password };
  }
  if (typeof entry.auth !== 'string' || entry.auth === '') return undefined;
  const text = Buffer.from(entry.auth, 'base64').toString('utf8').replace(/\0+$/, '');
  const colon = text.indexOf(':');
  if (colon <= 0) throw new SluiceError('InputInvalid', `${path}: an "auth" is not user:password in base64`);
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Asks `docker-credential-<name>` (docker/docker-credential-helpers). */
async function askHelper(name: string, host: string): Promise<Credentials | undefined> {
  if (!helperNameForm.test(name)) {
    throw new SluiceError('InputInvalid', `"${name.slice(0, 80)}" cannot be the name of a credential helper`);
  }
  const program = `docker-credential-${name}`;
  const server = host === 'docker.io' ? 'https://index.docker.io/v1/' : host;
  const answer = await run(program, ['get'], { input: server, timeoutMs: helperTimeoutMs });
  if (answer.code !== 0) {
    // The one answer by which helpers say that they know nothing.
    if (/credentials not found/i.test(`${answer.stdout}${answer.stderr}`)) return undefined;
    throw new SluiceError('CommandFailed', `${program} gives no password for ${host}`);
  }
  const said = recordOf(parseStrictJson(Buffer.from(answer.stdout), `the answer of ${program}`));
  const { Username: username, Secret: secret } = said ?? {};
  if (typeof username !== 'string' || typeof secret !== 'string' || secret === '') return undefined;
  return username === '<token>' ? { identityToken: secret } : { username, password: secret };
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
