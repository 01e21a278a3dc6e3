import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import type { TlsMaterial } from '../http/server.ts';

/** PEM files: what a server or a node proves itself with, and whose clients it believes. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string;
}

export function tlsFiles(tls: TlsFiles): string[] {
  return [tls.certFile, tls.keyFile, tls.clientCaFile].filter((path) => path !== undefined);
}

/** Reads certificate and key and checks that they are a pair. Errors: InputInvalid, NotFound. */
export async function readTls(tls: TlsFiles): Promise<TlsMaterial> {
  const read = async (path: string) =>
    await readFile(path, 'utf8').catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error;
      throw new SluiceError('NotFound', `there is no file ${path}`, { cause: error });
    });
  const cert = await read(tls.certFile);
  const key = await read(tls.keyFile);
  const clientCa = tls.clientCaFile === undefined ? undefined : await read(tls.clientCaFile);
  let isPair: boolean;
  try {
    isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    if (clientCa !== undefined) new X509Certificate(clientCa);
  } catch (error) {
    throw new SluiceError(
      'InputInvalid',
      `${tls.certFile} and ${tls.keyFile} cannot be read: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  if (!isPair) throw new SluiceError('InputInvalid', `${tls.keyFile} is not the key of ${tls.certFile}`);
  return { cert, key, ...(clientCa === undefined ? {} : { clientCa }) };
}
