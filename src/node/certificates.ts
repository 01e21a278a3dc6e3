import { messageOf } from '../errors/error.ts';
import type { Logger } from '../observe/log.ts';
import { readTls } from '../registry/tls-files.ts';
import { watchFiles } from '../registry/watch.ts';
import type { NodeIdentity } from './content.ts';

/**
 * Tells of certificates that were renewed, until the signal aborts. A pair that does not fit, because only one of its
 * files is there yet, or that cannot be read, leaves the last in use.
 */
export function followCertificates(of: {
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly onRenewed: (identity: NodeIdentity) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): void {
  const { files, logger, signal } = of;
  const read = async () => {
    try {
      const tls = await readTls({ certFile: files.cert, keyFile: files.key, clientCaFile: files.ca });
      of.onRenewed({ caPem: tls.clientCa ?? '', certPem: tls.cert, keyPem: tls.key });
      logger.info({ certificate: files.cert }, 'renewed certificates are in use');
    } catch (error) {
      logger.warn({ certificate: files.cert, error: messageOf(error) }, 'the last certificates stay in use');
    }
  };
  watchFiles([files.ca, files.cert, files.key], () => void read(), { signal });
}
