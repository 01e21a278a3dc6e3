import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeDurable } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { hostPort } from '../http/client.ts';
import { serve, type TlsMaterial } from '../http/server.ts';
import type { KubeconfigIdentity } from '../kube/kubeconfig.ts';
import { connect } from '../kube/platform.ts';
import { serveNodeSocket } from '../node/socket.ts';
import { systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { shellWord } from '../process/shell.ts';
import type { LoginAnswer } from './answers.ts';
import { loadFiles } from './files.ts';
import { createIdentities } from './identities.ts';
import { linkRoute } from './link.ts';
import { createOneTimeCodes } from './links.ts';
import { createConsole } from './server.ts';
import { createSealer, sessionKeyBytes } from './session.ts';

/** Where a console answers, and the first link to log in; no link where it gives none. */
export interface ConsoleReady {
  readonly url: string;
  readonly link: string | undefined;
}

export interface RunConsoleOptions {
  readonly identity: KubeconfigIdentity;
  readonly listen: { readonly address: string; readonly port: number };
  readonly tls?: TlsMaterial;
  /** Ends and begins with a slash. */
  readonly prefix: string;
  /** How people reach it from outside, without a slash at its end; default: the address that it listens at. */
  readonly publicUrl?: string;
  /** Whether one-time links give the rights of `identity`. */
  readonly links: boolean;
  /** Where `sluice console link` asks for one, and that command as it can be typed on this machine. */
  readonly socket?: string;
  readonly linkCommand?: string;
  /** Kept, so that sessions outlive a restart; made where it is not there. */
  readonly sessionKeyFile?: string;
  readonly nodesDirectory?: string;
  /** PEM of the authority of the nodes' registries; default: that of the cluster API. */
  readonly registryCa?: string;
  /** The built files of `web/`; default: those that came with the program. */
  readonly filesDirectory?: string;
  readonly version: string;
  readonly logger: Logger;
  readonly onReady: (ready: ConsoleReady) => void;
  readonly signal: AbortSignal;
}

/** Serves the console until the signal aborts. Errors: NotFound where it is not built; Unreachable without a cluster. */
export async function runConsole(options: RunConsoleOptions): Promise<void> {
  const { identity, listen, prefix, logger, signal } = options;
  const files = await loadFiles(options.filesDirectory, prefix);
  const userAgent = `sluice-console/${options.version}`;
  const probe = await connect(identity, { userAgent });
  const { platform, kinds } = probe;
  await probe.close();
  const identities = createIdentities(
    identity,
    {
      platform,
      machineConfigOperatorServes:
        platform === 'openshift' && kinds.InternalReleaseImage.group === kinds.NodeUpdate.group,
    },
    { links: options.links, userAgent },
  );
  const codes = createOneTimeCodes(systemClock);
  const { cert: certPem, key: keyPem, ca } = identity.tls;
  const caPem = options.registryCa ?? ca ?? '';
  const console = createConsole({
    files,
    prefix,
    identities,
    sealer: createSealer(await sessionKey(options.sessionKeyFile)),
    codes,
    login: loginBy(options),
    // With a token the password of the registries is read from its Secret, as far as the token may.
    registry: (by) => (by === 'link' && certPem !== undefined ? { caPem, certPem, keyPem } : { caPem }),
    nodesDirectory: options.nodesDirectory,
    version: options.version,
    clock: systemClock,
    logger,
  });
  const server = await serve({
    ...listen,
    handler: console.handler,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    logger,
  });
  const scheme = options.tls === undefined ? 'http' : 'https';
  const own = `${scheme}://${hostPort(server.address, server.port)}`;
  const url = `${options.publicUrl ?? own}${prefix}`;
  const newLink = () => (options.links ? `${url}#code=${codes.create()}` : undefined);
  const socket =
    options.socket === undefined
      ? undefined
      : await serveNodeSocket(
          options.socket,
          { [linkRoute]: async () => ({ url, link: newLink() }) },
          logger,
        );
  options.onReady({ url, link: newLink() });
  try {
    if (!signal.aborted) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
  } finally {
    await socket?.close();
    console.close();
    await server.close();
    await identities.close();
  }
}

function loginBy({ links, socket, linkCommand }: RunConsoleOptions): LoginAnswer {
  if (!links) return { links: 'never' };
  if (socket === undefined) return { links: 'start' };
  return { links: 'command', ...(linkCommand === undefined ? {} : { command: linkCommand }) };
}

async function sessionKey(file: string | undefined): Promise<Buffer> {
  if (file === undefined) return randomBytes(sessionKeyBytes);
  try {
    const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'base64');
    if (key.length === sessionKeyBytes) return key;
    throw new SluiceError('InputInvalid', `${file} does not hold ${sessionKeyBytes} bytes in base64`, {
      next: `Make one: head -c ${sessionKeyBytes} /dev/urandom | base64 > ${shellWord(file)}`,
    });
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  const key = randomBytes(sessionKeyBytes);
  await writeDurable(file, `${key.toString('base64')}\n`, { mode: 0o600 });
  return key;
}
