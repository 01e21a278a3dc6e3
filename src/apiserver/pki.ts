import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeDurable, writeJson } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import type { KeyPair } from '../trust/authority.ts';

/** What the server needs of a directory of certificates. */
export interface ServerPki {
  readonly caPem: string;
  readonly server: KeyPair;
}

/** Names by which Pods and clients know the API server. */
export const serverNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
] as const;

/**
 * The server's certificates from `dir`: `ca.crt`, `apiserver.crt`, `apiserver.key`. Where there is no authority
 * yet, one is made (`ca.key`), with the server's pair and an administrator's (`admin.crt`, `admin.key`).
 * Errors: InputInvalid where there is an authority but no pair of the server.
 */
export async function ensureServerPki(dir: string, address: string): Promise<ServerPki> {
  const caPem = await readIfThere(join(dir, 'ca.crt'));
  if (caPem !== undefined) {
    const certPem = await readIfThere(join(dir, 'apiserver.crt'));
    const keyPem = await readIfThere(join(dir, 'apiserver.key'));
    if (certPem === undefined || keyPem === undefined) {
      throw new SluiceError('InputInvalid', `${dir} has a ca.crt, but no apiserver.crt and apiserver.key`, {
        next: 'Issue them by that authority, or give an empty directory to have all of them made.',
      });
    }
    return { caPem, server: { certPem, keyPem } };
  }
  const { createAuthority, issue } = await import('../trust/authority.ts');
  const authority = await createAuthority('sluice-cluster-ca');
  const server = await issue(authority, {
    commonName: 'kube-apiserver',
    dnsNames: serverNames,
    ipAddresses: [...new Set([address, '127.0.0.1', '::1'])],
    usage: 'both',
  });
  const admin = await issue(authority, {
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const files: [string, string, number][] = [
    ['ca.key', authority.keyPem, 0o600],
    ['apiserver.key', server.keyPem, 0o600],
    ['apiserver.crt', server.certPem, 0o644],
    ['admin.key', admin.keyPem, 0o600],
    ['admin.crt', admin.certPem, 0o644],
    // Last: what has an authority is complete.
    ['ca.crt', authority.certPem, 0o644],
  ];
  for (const [name, text, mode] of files) await writeDurable(join(dir, name), text, { mode });
  return { caPem: authority.certPem, server };
}

/** Writes `admin.kubeconfig` beside the administrator's pair; undefined where that is not in `dir`. */
export async function writeAdminKubeconfig(dir: string, server: string): Promise<string | undefined> {
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'admin.crt', 'admin.key'].map((name) => readIfThere(join(dir, name))),
  );
  if (ca === undefined || cert === undefined || key === undefined) return undefined;
  const path = join(dir, 'admin.kubeconfig');
  const kubeconfig = kubeconfigOf(server, ca, { certPem: cert, keyPem: key });
  // One that says so already is left: a server that comes back on a full disk needs no room then.
  if (!isDeepStrictEqual(parsed(await readIfThere(path)), kubeconfig)) {
    await writeJson(path, kubeconfig, { mode: 0o600 });
  }
  return path;
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** A kubeconfig (JSON is YAML) with everything inside it. */
export function kubeconfigOf(server: string, caPem: string, { certPem, keyPem }: KeyPair): object {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'sluice', cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [
      {
        name: 'admin',
        user: { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) },
      },
    ],
    contexts: [{ name: 'sluice', context: { cluster: 'sluice', user: 'admin' } }],
    'current-context': 'sluice',
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The key that signs ServiceAccount tokens: made at the first start, kept after it. */
export async function ensureServiceAccountKey(dir: string): Promise<string> {
  const path = join(dir, 'service-account.key');
  const standing = await readIfThere(path);
  if (standing !== undefined) return standing;
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await writeDurable(path, privateKey, { mode: 0o600 });
  return privateKey;
}
