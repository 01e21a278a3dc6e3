import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurable } from '../durable/file.ts';
import { systemCode } from '../errors/error.ts';
import { createAuthority, issue, type KeyPair, type LeafOptions } from '../trust/authority.ts';
import type { UpLayout } from './layout.ts';

/** Who takes part in a cluster on one machine, and by which name the API knows them. */
export type Identity =
  | { readonly kind: 'admin' }
  | { readonly kind: 'controller' }
  | { readonly kind: 'apiserver' }
  | { readonly kind: 'node'; readonly name: string; readonly address: string };

/** The file name of an identity's certificate, key and kubeconfig. */
export function identityName(identity: Identity): string {
  return identity.kind === 'node' ? identity.name : identity.kind;
}

/**
 * What its certificate says. Nodes follow the Kubernetes node authorizer's convention (CN `system:node:<name>`,
 * O `system:nodes`); their certificate also serves the registry, so it carries api-int's name and the address.
 */
export function leafOf(identity: Identity, apiInt: string): LeafOptions {
  switch (identity.kind) {
    case 'admin':
      return { commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' };
    case 'controller':
      return { commonName: 'sluice-controller', organizations: ['sluice:controllers'], usage: 'client' };
    case 'apiserver':
      return {
        commonName: 'kube-apiserver',
        dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
        ipAddresses: ['127.0.0.1', '::1'],
        usage: 'both',
      };
    case 'node':
      return {
        commonName: `system:node:${identity.name}`,
        organizations: ['system:nodes'],
        dnsNames: [apiInt, identity.name, 'localhost'],
        ipAddresses: [identity.address, '127.0.0.1', '::1'],
        usage: 'both',
      };
  }
}

/** The cluster's authority: made at the first start, kept after it. */
export async function ensureAuthority(layout: UpLayout): Promise<KeyPair> {
  const files = { cert: layout.caFile, key: join(layout.pki, 'ca.key') };
  return await ensurePair(files, () => createAuthority('sluice-cluster-ca'));
}

/** The certificate and key of one identity: made at the first start, kept after it. */
export async function ensureIdentity(
  layout: UpLayout,
  authority: KeyPair,
  identity: Identity,
  apiInt: string,
): Promise<KeyPair> {
  return await ensurePair(layout.identity(identityName(identity)), () =>
    issue(authority, leafOf(identity, apiInt)),
  );
}

async function ensurePair(
  files: { cert: string; key: string },
  make: () => Promise<KeyPair>,
): Promise<KeyPair> {
  try {
    return { certPem: await readFile(files.cert, 'utf8'), keyPem: await readFile(files.key, 'utf8') };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  const made = await make();
  // The key first: a crash between the two leaves no certificate that has no key.
  await writeDurable(files.key, made.keyPem, { mode: 0o600 });
  await writeDurable(files.cert, made.certPem);
  return made;
}

/** A kubeconfig of one identity, everything inside it, as clients of other machines would take it. */
export async function writeKubeconfig(
  path: string,
  server: string,
  caPem: string,
  identity: KeyPair,
  user: string,
): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const { stringify } = await import('yaml');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'sluice',
    clusters: [{ name: 'sluice', cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [
      {
        name: user,
        user: {
          'client-certificate-data': base64(identity.certPem),
          'client-key-data': base64(identity.keyPem),
        },
      },
    ],
    contexts: [{ name: 'sluice', context: { cluster: 'sluice', user } }],
  };
  await writeDurable(path, stringify(config), { mode: 0o600 });
}
