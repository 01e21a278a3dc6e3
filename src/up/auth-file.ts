import type { Secret } from '../api/core.ts';
import { names } from '../api/names.ts';
import { writeDurable } from '../durable/file.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { credentialsIn } from '../release/credentials.ts';

/** How long the first password is waited for: the controller makes it when it leads. */
const firstMs = 20_000;

/**
 * Keeps the credentials of the registries where skopeo and podman find them (containers-auth.json(5)), through every
 * change of the password, until the signal aborts. Resolves when they stand there for the first time, or after a
 * while: then they follow.
 */
export async function keepAuthFile(of: {
  readonly client: KubeClient;
  readonly file: string;
  /** `host:port` of each registry. */
  readonly registries: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { client, file, clock, logger, signal } = of;
  const { machineConfigNamespace: namespace, registrySecret, registryUser } = names(client.platform);
  const secrets = createInformer(client, client.kinds.Secret, {
    namespace,
    fieldSelector: `metadata.name=${registrySecret}`,
    clock,
    logger,
    signal,
  });
  const first = Promise.withResolvers<void>();
  let writing: Promise<void> = Promise.resolve();
  let written: string | undefined;
  secrets.onChange((change) => {
    if (change.type === 'deleted') return; // Clients keep what they have until another is made.
    const { password } = credentialsIn(change.object as Secret);
    if (password === undefined || password === written) return;
    const auth = Buffer.from(`${registryUser}:${password}`).toString('base64');
    const auths = Object.fromEntries(of.registries.map((registry) => [registry, { auth }]));
    writing = writing
      .then(async () => {
        await writeDurable(file, `${JSON.stringify({ auths }, null, 2)}\n`, { mode: 0o600 });
        written = password;
        first.resolve();
      })
      .catch((error: unknown) => logger.error({ file, error: messageOf(error) }, 'credentials not written'));
  });
  secrets.start();
  await Promise.race([first.promise, clock.sleep(firstMs, signal).catch(() => {})]);
}
