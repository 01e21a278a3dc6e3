import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { messageOf, SluiceError } from '../errors/error.ts';
import type { ClientTls } from '../http/client.ts';
import type { ExecPlugin } from './exec.ts';

/** One context of a kubeconfig, resolved: where the cluster is and who asks. */
export interface KubeconfigIdentity {
  readonly server: string;
  readonly tls: ClientTls;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly exec?: ExecPlugin;
  /** The namespace of the context, `default` where it names none. */
  readonly namespace: string;
  /** For messages. */
  readonly context: string;
}

interface Kubeconfig {
  'current-context'?: string;
  clusters?: { name: string; cluster?: ClusterEntry }[];
  users?: { name: string; user?: UserEntry }[];
  contexts?: { name: string; context?: { cluster?: string; user?: string; namespace?: string } }[];
}

interface ClusterEntry {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
}

interface UserEntry {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  'auth-provider'?: unknown;
  exec?: {
    command?: string;
    args?: string[] | null;
    env?: { name: string; value: string }[] | null;
    apiVersion?: string;
    installHint?: string;
    provideClusterInfo?: boolean;
  };
}

const fileBytesMax = 4 * 1024 * 1024;
const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The identity that a command uses, found as kubectl finds it: `path`, else the first file of KUBECONFIG that
 * exists, else ~/.kube/config, else the ServiceAccount of the Pod that it runs in.
 * Errors: NotFound, InputInvalid, both with the file.
 */
export function findKubeconfig(
  options: { path?: string; context?: string; env?: NodeJS.ProcessEnv } = {},
): KubeconfigIdentity {
  const env = options.env ?? process.env;
  if (options.path !== undefined) return loadKubeconfig(options.path, options.context);
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  const candidates = listed.length > 0 ? listed : [join(homedir(), '.kube', 'config')];
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file !== undefined) return loadKubeconfig(file, options.context);
  if (listed.length === 0 && env.KUBERNETES_SERVICE_HOST !== undefined) return inCluster(env);
  throw new SluiceError('NotFound', `no kubeconfig: ${candidates.join(', ')} does not exist`, {
    next: 'Give one with --kubeconfig, or set KUBECONFIG.',
  });
}

/** Reads one kubeconfig file. Paths in it are relative to it. Errors: NotFound, InputInvalid. */
export function loadKubeconfig(path: string, contextName?: string): KubeconfigIdentity {
  const config = readConfig(path);
  const name = contextName ?? config['current-context'] ?? '';
  const context = config.contexts?.find((entry) => entry.name === name)?.context;
  if (context === undefined) {
    const known = (config.contexts ?? []).map((entry) => entry.name).join(', ');
    const what = name === '' ? 'names no current-context' : `has no context '${name}'`;
    throw invalid(path, `${what}; its contexts: ${known || 'none'}`);
  }
  const cluster = config.clusters?.find((entry) => entry.name === context.cluster)?.cluster;
  if (cluster === undefined) throw invalid(path, `has no cluster '${context.cluster}' (context '${name}')`);
  const user = config.users?.find((entry) => entry.name === context.user)?.user ?? {};
  const at = (file: string) => (isAbsolute(file) ? file : resolve(dirname(path), file));
  const pem = (data: string | undefined, file: string | undefined) =>
    data !== undefined
      ? Buffer.from(data, 'base64').toString('utf8')
      : file === undefined
        ? undefined
        : readText(at(file), `named in ${path}`);

  const server = parseServer(path, cluster);
  const ca = pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = pem(user['client-certificate-data'], user['client-certificate']);
  const key = pem(user['client-key-data'], user['client-key']);
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid(path, `the user '${context.user}' has a client certificate or its key, not both`);
  }
  if (user.username !== undefined || user['auth-provider'] !== undefined) {
    throw invalid(path, `the user '${context.user}' has a way to log in that Kubernetes no longer has`);
  }
  const exec = user.exec === undefined ? undefined : parseExec(path, user.exec, dirname(path), ca);
  return {
    server,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(cluster['tls-server-name'] === undefined ? {} : { servername: cluster['tls-server-name'] }),
    },
    ...(user.token === undefined ? {} : { token: user.token }),
    ...(user.token !== undefined || user.tokenFile === undefined ? {} : { tokenFile: at(user.tokenFile) }),
    ...(exec === undefined ? {} : { exec }),
    namespace: context.namespace ?? 'default',
    context: name,
  };
}

/** The identity of the ServiceAccount of this Pod. Errors: NotFound outside a Pod. */
export function inCluster(
  env: NodeJS.ProcessEnv = process.env,
  directory: string = serviceAccountDirectory,
): KubeconfigIdentity {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (host === undefined || port === undefined) {
    throw new SluiceError('NotFound', 'this is no Pod: KUBERNETES_SERVICE_HOST and _PORT are not set');
  }
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca: readText(join(directory, 'ca.crt'), 'the authority of the Pod') },
    tokenFile: join(directory, 'token'),
    namespace: readText(join(directory, 'namespace'), 'the namespace of the Pod').trim(),
    context: 'in-cluster',
  };
}

function readConfig(path: string): Kubeconfig {
  let value: unknown;
  try {
    value = parse(readText(path, 'the kubeconfig'), { maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw invalid(path, `is no YAML: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(path, 'holds no kubeconfig');
  }
  return value as Kubeconfig;
}

function parseServer(path: string, cluster: ClusterEntry): string {
  if (cluster['proxy-url'] !== undefined) {
    throw invalid(path, 'asks for a proxy (proxy-url), which Sluice does not use');
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw invalid(path, 'asks not to verify the server (insecure-skip-tls-verify), which Sluice always does');
  }
  let url: URL;
  try {
    url = new URL(cluster.server ?? '');
  } catch {
    throw invalid(path, `its server '${cluster.server ?? ''}' is no URL`);
  }
  if (url.protocol !== 'https:') throw invalid(path, `its server ${url.href} is not https`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function parseExec(
  path: string,
  exec: NonNullable<UserEntry['exec']>,
  directory: string,
  caPem: string | undefined,
): ExecPlugin {
  if (exec.command === undefined || exec.apiVersion === undefined) {
    throw invalid(path, 'its exec lacks command or apiVersion');
  }
  // As kubectl: a bare name is looked up on PATH, a path is relative to the kubeconfig.
  const command =
    exec.command.includes('/') && !isAbsolute(exec.command) ? resolve(directory, exec.command) : exec.command;
  return {
    command,
    args: exec.args ?? [],
    env: Object.fromEntries((exec.env ?? []).map((entry) => [entry.name, entry.value])),
    apiVersion: exec.apiVersion,
    provideClusterInfo: exec.provideClusterInfo === true,
    ...(exec.installHint === undefined ? {} : { installHint: exec.installHint }),
    ...(caPem === undefined ? {} : { caPem }),
  };
}

function readText(path: string, what: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new SluiceError('NotFound', `${path} (${what}) cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (bytes.length > fileBytesMax) {
    throw new SluiceError('InputTooLarge', `${path} is larger than ${fileBytesMax} bytes`);
  }
  return bytes.toString('utf8');
}

function invalid(path: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `the kubeconfig ${path} ${what}`);
}
