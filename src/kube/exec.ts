import { messageOf, SluiceError } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import { run } from '../process/run.ts';

/** The `exec` of a user in a kubeconfig (client.authentication.k8s.io/v1, ExecConfig). */
export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** What a person can do where the command is missing. */
  readonly installHint?: string;
  readonly provideClusterInfo: boolean;
  readonly caPem?: string;
}

export interface Credential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface ExecCredential {
  /** The credential at hand, or a new one where it is about to expire. Errors: Unauthorized. */
  credential(): Promise<Credential>;
  /** Asks the plugin again at the next need: the server refused this one. */
  forget(refused: Credential): void;
}

const supportedVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const execTimeoutMs = 60_000;
/** A credential this near to its end is replaced before it is used. */
const expiryMarginMs = 10_000;

/** Runs the plugin when a credential is needed, once for all who ask at the same time. */
export function createExecCredential(plugin: ExecPlugin, server: string, clock: Clock): ExecCredential {
  let held: { credential: Credential; expiresMs: number } | undefined;
  let asking: Promise<Credential> | undefined;

  async function ask(): Promise<Credential> {
    const { credential, expiresMs } = await execute(plugin, server);
    held = { credential, expiresMs };
    return credential;
  }

  return {
    async credential() {
      if (held !== undefined && clock.now() < held.expiresMs - expiryMarginMs) return held.credential;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return await asking;
    },
    forget(refused) {
      if (held?.credential === refused) held = undefined;
    },
  };
}

async function execute(
  plugin: ExecPlugin,
  server: string,
): Promise<{ credential: Credential; expiresMs: number }> {
  if (!supportedVersions.includes(plugin.apiVersion)) {
    throw failure(plugin, `its apiVersion ${plugin.apiVersion} is not supported`);
  }
  const cluster = {
    server,
    ...(plugin.caPem === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(plugin.caPem).toString('base64') }),
  };
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(plugin.provideClusterInfo ? { cluster } : {}) },
  };
  const result = await run(plugin.command, plugin.args, {
    env: { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    timeoutMs: execTimeoutMs,
  }).catch((error: unknown) => {
    throw failure(plugin, messageOf(error));
  });
  if (result.code !== 0) {
    throw failure(plugin, result.timedOut ? 'it took too long' : result.stderr.trim().slice(-500));
  }
  return parseExecCredential(result.stdout, plugin);
}

/** Reads the ExecCredential that a plugin printed. Errors: Unauthorized. */
export function parseExecCredential(
  text: string,
  plugin: Pick<ExecPlugin, 'command' | 'apiVersion'>,
): { credential: Credential; expiresMs: number } {
  let value: {
    apiVersion?: string;
    kind?: string;
    status?: {
      token?: string;
      clientCertificateData?: string;
      clientKeyData?: string;
      expirationTimestamp?: string;
    };
  };
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw failure(plugin, `it printed no JSON: ${messageOf(error)}`);
  }
  if (value.kind !== 'ExecCredential' || value.apiVersion !== plugin.apiVersion) {
    throw failure(plugin, `it printed a ${value.kind} of ${value.apiVersion}, not of ${plugin.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = value.status ?? {};
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw failure(plugin, 'it gave neither a token nor a certificate with its key');
  }
  return {
    credential: {
      ...(token === undefined ? {} : { token }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
    expiresMs: expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp),
  };
}

function failure(plugin: Pick<ExecPlugin, 'command'> & { installHint?: string }, why: string): SluiceError {
  return new SluiceError('Unauthorized', `the credential plugin ${plugin.command} failed: ${why}`, {
    next: plugin.installHint ?? 'Run the command of the kubeconfig by hand and see what it says.',
  });
}
