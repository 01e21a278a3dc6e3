import { X509Certificate } from 'node:crypto';
import type { Secret } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import { applyObject } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { KeyPair } from '../trust/authority.ts';
import type { RegistryIdentity } from './content.ts';
import { authorityKey } from './reader.ts';

/** Certificates are made anew this long before they end, and at the latest when nobody looks for a year. */
const renewMs = 60 * 24 * 3_600_000;
const leafDays = 730;
const certificateKey = 'tls.crt';
const privateKey = 'tls.key';

/**
 * The certificates of the nodes' registries where no platform makes them (not in standalone): an authority of their own,
 * one certificate for the registries of all control-plane nodes, and one by which containers' runtimes and the
 * controller read from them. Makes what is missing or about to end, leaves the rest. Answers by which the registries
 * are read. Errors: the client's.
 *
 * @param apiInt the name that all registries share; undefined where the platform has not told it (yet).
 */
export async function keepCertificates(
  client: KubeClient,
  addresses: readonly string[],
  clock: Clock,
  apiInt?: string,
): Promise<RegistryIdentity> {
  const {
    registryAuthoritySecret,
    registryTlsSecret,
    registryClientSecret,
    apiInt: ours,
  } = names(client.platform);
  // The platform's name for kubelets, and ours, by which peers know each other.
  const dnsNames = [...new Set([...(apiInt === undefined ? [] : [apiInt]), ours, 'localhost'])];
  const { createAuthority, issue } = await import('../trust/authority.ts');
  const now = clock.now();
  const authority =
    (await readPair(client, registryAuthoritySecret)) ??
    (await createPair(client, registryAuthoritySecret, await createAuthority('sluice-registries', { now })));
  await publishAuthority(client, authority.certPem);
  const keep = async (
    name: string,
    isFit: (certificate: X509Certificate) => boolean,
    make: () => Promise<KeyPair>,
  ) => {
    const standing = await readPair(client, name);
    if (
      standing !== undefined &&
      isValid(standing, authority, now) &&
      isFit(new X509Certificate(standing.certPem))
    )
      return standing;
    const made = await make();
    await writePair(client, name, made);
    return made;
  };
  const ipAddresses = [...new Set([...addresses, '127.0.0.1', '::1'])].sort();
  // Where no node is known yet there is nothing to certify.
  if (addresses.length > 0) {
    await keep(
      registryTlsSecret,
      (certificate) =>
        ipAddresses.every((address) => certificate.checkIP(address) !== undefined) &&
        dnsNames.every((name) => certificate.checkHost(name) !== undefined),
      () =>
        issue(authority, {
          commonName: 'sluice-registry',
          dnsNames,
          ipAddresses,
          usage: 'both',
          days: leafDays,
          now,
        }),
    );
  }
  const reader = await keep(
    registryClientSecret,
    () => true,
    () => issue(authority, { commonName: 'sluice-puller', usage: 'client', days: leafDays, now }),
  );
  return { caPem: authority.certPem, certPem: reader.certPem, keyPem: reader.keyPem };
}

function isValid(pair: KeyPair, authority: KeyPair, now: number): boolean {
  try {
    const certificate = new X509Certificate(pair.certPem);
    const issuer = new X509Certificate(authority.certPem);
    return certificate.verify(issuer.publicKey) && Date.parse(certificate.validTo) - now > renewMs;
  } catch {
    return false; // Somebody wrote something else into the Secret.
  }
}

/** For nodes and runtimes: authorities are only ever added, so that none is cut off while another takes over. */
async function publishAuthority(client: KubeClient, certPem: string): Promise<void> {
  const { registryCa: name, machineConfigNamespace: namespace } = names(client.platform);
  const { ConfigMap } = client.kinds;
  const standing = (await client.tryGet(ConfigMap, name, namespace))?.data?.[authorityKey] ?? '';
  if (standing.includes(certPem.trim())) return;
  await applyObject(client, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data: { [authorityKey]: `${certPem.trim()}\n${standing}` },
  } as Parameters<typeof applyObject>[1]);
}

async function readPair(client: KubeClient, name: string): Promise<KeyPair | undefined> {
  const { machineConfigNamespace: namespace } = names(client.platform);
  const kind: KindRef<Secret> = client.kinds.Secret;
  const data = (await client.tryGet(kind, name, namespace))?.data;
  const decoded = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  const [certPem, keyPem] = [decoded(certificateKey), decoded(privateKey)];
  return certPem === '' || keyPem === '' ? undefined : { certPem, keyPem };
}

function secretOf(client: KubeClient, name: string, pair: KeyPair) {
  const { machineConfigNamespace: namespace } = names(client.platform);
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    type: 'kubernetes.io/tls',
    data: { [certificateKey]: encoded(pair.certPem), [privateKey]: encoded(pair.keyPem) },
  };
}

/** The first one counts: two that come at once end with the same authority. */
async function createPair(client: KubeClient, name: string, pair: KeyPair): Promise<KeyPair> {
  try {
    await client.create(client.kinds.Secret, secretOf(client, name, pair));
    return pair;
  } catch (error) {
    const standing = isAlreadyExists(error) ? await readPair(client, name) : undefined;
    if (standing === undefined) throw error;
    return standing;
  }
}

async function writePair(client: KubeClient, name: string, pair: KeyPair): Promise<void> {
  await applyObject(client, secretOf(client, name, pair));
}
