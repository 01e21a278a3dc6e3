import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { type ClientTls, createHttpClient, type HttpClient } from '../http/client.ts';
import { proxyFromEnvironment } from '../http/proxy.ts';
import { systemClock } from '../observe/clock.ts';
import { authFilePaths, createCredentialFinder } from '../oci/auth-file.ts';
import { createAuthorizer } from '../oci/authorizer.ts';
import { createRegistryClient } from '../oci/client.ts';
import { firstOf } from '../oci/first-of.ts';
import { type Endpoint, endpointsOf, loadRegistryRules, type RegistryRule } from '../oci/registries-conf.ts';
import type { ContentSource } from '../oci/source.ts';
import { explainUnreachable } from './unreachable.ts';

/** How the registries that images come from are reached. */
export interface RegistryAccess {
  /** For HTTPS_PROXY, NO_PROXY, REGISTRY_AUTH_FILE, DOCKER_CONFIG, CONTAINERS_REGISTRIES_CONF, HOME. */
  readonly env: NodeJS.ProcessEnv;
  /** File of passwords, instead of those of podman and docker. */
  readonly authFile?: string;
  /** PEM file of authorities that are believed besides the system's. */
  readonly caFile?: string;
  /** `registries.conf` to use instead of the user's or the system's. */
  readonly registriesConf?: string;
  /** `host[:port]` of registries that are spoken to without TLS, or whatever certificate they show. */
  readonly insecure?: readonly string[];
}

/** Where containers' certificates are looked for: containers-certs.d(5), and docker's. */
const certificateRoots = ['/etc/containers/certs.d', '/etc/docker/certs.d'];
const retriesMax = 4;
const connectTimeoutMs = 10_000;

/** Opens repositories of registries, each once. */
export interface RegistryOpener {
  /** @param image `docker.io` is asked at its own address. Errors: Forbidden, NotFound, InputInvalid. */
  open(image: { host: string; repository: string }): Promise<ContentSource>;
  close(): Promise<void>;
}

export function createRegistryOpener(access: RegistryAccess): RegistryOpener {
  const finder = createCredentialFinder(authFilePaths(access.env, access.authFile));
  const opened = new Map<string, Promise<ContentSource>>();
  const clients = new Map<string, Promise<ContentSource>>();
  const connections: HttpClient[] = [];
  let rules: Promise<RegistryRule[]> | undefined;

  async function connect(host: string, insecure: boolean): Promise<ContentSource> {
    const tls = await tlsOf(host, access, insecure);
    const proxy = proxyFromEnvironment(access.env);
    const http = explainUnreachable(createHttpClient(tls, { connectTimeoutMs, proxy }), proxy);
    connections.push(http);
    const address = host === 'docker.io' ? 'registry-1.docker.io' : host;
    const baseUrl = insecure ? await insecureBase(address, http) : `https://${address}`;
    const authorizer = createAuthorizer({
      host,
      http,
      insecure,
      credentials: (repository) => finder.find(host, repository),
    });
    return createRegistryClient({ baseUrl, http, authorizer, redirectsAnywhere: true, retriesMax });
  }

  async function openPlace(endpoint: Endpoint) {
    const insecure = endpoint.insecure || (access.insecure ?? []).includes(endpoint.host);
    const key = `${insecure} ${endpoint.host}`;
    const client = clients.get(key) ?? connect(endpoint.host, insecure);
    clients.set(key, client);
    return { endpoint: { ...endpoint, repository: officialName(endpoint) }, content: await client };
  }

  return {
    open(image) {
      const name = `${image.host}/${image.repository}`;
      const known = opened.get(name);
      if (known !== undefined) return known;
      const open = async () => {
        rules ??= loadRegistryRules(access.env, access.registriesConf);
        const places = await Promise.all(endpointsOf(await rules, image).map(openPlace));
        return firstOf(name, places, systemClock);
      };
      const source = open();
      opened.set(name, source);
      return source;
    },
    async close() {
      await Promise.all(connections.map((each) => each.close()));
    },
  };
}

/** Docker's own images stand below `library`. */
function officialName({ host, repository }: Endpoint): string {
  return host === 'docker.io' && !repository.includes('/') ? `library/${repository}` : repository;
}

/** A registry that may be insecure is still spoken to with TLS where it has it. */
async function insecureBase(address: string, http: HttpClient): Promise<string> {
  try {
    const answer = await http.request({ url: `https://${address}/v2/` });
    await answer.discard();
    return `https://${address}`;
  } catch {
    return `http://${address}`;
  }
}

async function tlsOf(host: string, access: RegistryAccess, insecure: boolean): Promise<ClientTls> {
  const own = await certificatesOf(host);
  const named = access.caFile === undefined ? [] : [await readPem(access.caFile)];
  // Authorities that are named come beside the system's, which Node's own list does not hold.
  const ca = [...getCACertificates('default'), ...getCACertificates('system'), ...own.ca, ...named].join(
    '\n',
  );
  return { ca, ...own.pair, ...(insecure ? { anyCertificate: true } : {}) };
}

async function certificatesOf(
  host: string,
): Promise<{ ca: string[]; pair: { cert?: string; key?: string } }> {
  for (const root of certificateRoots) {
    const directory = join(root, host);
    const names = await readdir(directory).catch((error: unknown) => {
      if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return [] as string[];
      throw error;
    });
    if (names.length === 0) continue;
    const ca = await Promise.all(
      names.filter((each) => each.endsWith('.crt')).map((each) => readPem(join(directory, each))),
    );
    const cert = names.find((each) => each.endsWith('.cert') && names.includes(each.replace(/cert$/, 'key')));
    if (cert === undefined) return { ca, pair: {} };
    const key = cert.replace(/cert$/, 'key');
    return {
      ca,
      pair: { cert: await readPem(join(directory, cert)), key: await readPem(join(directory, key)) },
    };
  }
  return { ca: [], pair: {} };
}

async function readPem(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new SluiceError('NotFound', `${path} cannot be read: ${messageOf(cause)}`, { cause });
  });
}
