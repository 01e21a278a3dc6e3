import { randomBytes } from 'node:crypto';
import { hash } from 'bcryptjs';
import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';

/** bcrypt's work factor: distribution's own default for htpasswd. */
const bcryptCost = 10;
const passwordBytes = 32;

/** The registries' password, where the Secret is there. */
export async function registryPassword(client: KubeClient): Promise<string | undefined> {
  const { registrySecret, machineConfigNamespace } = names(client.platform);
  const secret = await client.tryGet(client.kinds.Secret, registrySecret, machineConfigNamespace);
  return decoded(secret?.data?.password);
}

/** The lines of the htpasswd file, where the Secret is there. */
export async function registryHtpasswd(client: KubeClient): Promise<string | undefined> {
  const { registrySecret, machineConfigNamespace } = names(client.platform);
  const secret = await client.tryGet(client.kinds.Secret, registrySecret, machineConfigNamespace);
  return decoded(secret?.data?.htpasswd);
}

function decoded(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');
}

/**
 * Makes the Secret `internal-release-image-registry-auth` where it is missing; one that stands is never touched.
 * Answers whether it was made.
 */
export async function ensureRegistrySecret(client: KubeClient): Promise<boolean> {
  const { registrySecret, registryUser, machineConfigNamespace } = names(client.platform);
  const { Secret } = client.kinds;
  if ((await client.tryGet(Secret, registrySecret, machineConfigNamespace)) !== undefined) return false;
  const password = randomBytes(passwordBytes).toString('base64url');
  const line = `${registryUser}:${await hash(password, bcryptCost)}\n`;
  try {
    await client.create(Secret, {
      metadata: { name: registrySecret, namespace: machineConfigNamespace },
      type: 'Opaque',
      data: {
        htpasswd: Buffer.from(line).toString('base64'),
        password: Buffer.from(password).toString('base64'),
      },
    });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
