/**
 * How long a start takes with 20,000 objects in the database: `sluice apiserver` from its start until it answers, and
 * `sluice controller` from its start until its first reconcile has written. Prints the medians. `--objects N`, `--runs N`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { names } from '../src/api/names.ts';
import { applyObject } from '../src/kube/apply.ts';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { shippedManifests } from '../tests/shipped.ts';
import { repository } from '../tests/tier.ts';
import { ended, startEmbedded } from './engines.ts';
import { median, rateOf, say, timed } from './measure.ts';

const { values: options } = parseArgs({
  options: { objects: { type: 'string', default: '20000' }, runs: { type: 'string', default: '5' } },
});
const objects = Number(options.objects);
const runs = Number(options.runs);
const { clusterVersion, inUse, machineConfigNamespace } = names('standalone');

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));

const clientOf = (kubeconfig: string) =>
  createKubeClient({ ...loadKubeconfig(kubeconfig), platform: 'standalone' });

async function fill(): Promise<void> {
  const api = await startEmbedded(dir);
  const client = clientOf(api.kubeconfig);
  for (const object of await shippedManifests([
    '00-namespaces.yaml',
    '10-preflight.yaml',
    '20-controller.yaml',
  ])) {
    await applyObject(client, object);
  }
  await client.create(client.kinds.ClusterVersion, {
    metadata: { name: clusterVersion },
    spec: { clusterID: '00000000-0000-4000-8000-000000000000' },
  });
  const filler = 'x'.repeat(500);
  await rateOf(objects, 32, (at) =>
    client.create(client.kinds.ConfigMap, {
      metadata: { name: `o-${at}`, namespace: 'default' },
      data: { filler },
    }),
  );
  await client.close();
  await api.close();
}

async function startApi(): Promise<number> {
  const began = performance.now();
  const api = await startEmbedded(dir);
  const client = clientOf(api.kubeconfig);
  await client.list(client.kinds.Namespace);
  const ms = performance.now() - began;
  await client.close();
  await api.close();
  return ms;
}

/** From no word of what is in use to the word of the controller, which it publishes first. */
async function startController(): Promise<number> {
  const api = await startEmbedded(dir, []);
  const client = clientOf(api.kubeconfig);
  const { ConfigMap, Lease } = client.kinds;
  await client.delete(ConfigMap, inUse, { namespace: machineConfigNamespace });
  // The lease of the run before: a controller that was ended in order has left it.
  for (const { metadata } of (await client.list(Lease)).items) {
    if (!metadata.name.includes('sluice')) continue;
    await client.delete(Lease, metadata.name, { namespace: metadata.namespace ?? '' });
  }
  let child: ReturnType<typeof spawn> | undefined;
  const ms = await timed(async () => {
    const args = ['controller', '--kubeconfig', api.kubeconfig, '--ca', join(dir, 'pki', 'ca.crt')];
    child = spawn(join(repository, 'sluice'), args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const scope = { namespace: machineConfigNamespace, timeoutMs: 60_000 };
    await waitFor(client, ConfigMap, inUse, (object) => object !== undefined, scope);
  });
  if (child !== undefined) await ended(child, 'SIGTERM');
  await client.close();
  await api.close();
  return ms;
}

try {
  await fill();
  const api: number[] = [];
  const controller: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    api.push(await startApi());
    controller.push(await startController());
  }
  say(`objects in the database                  ${objects}`);
  say(
    `API ready, ms                            ${median(api).toFixed(0)}   (${api.map((ms) => ms.toFixed(0))})`,
  );
  say(
    `controller's first reconcile, ms         ${median(controller).toFixed(0)}   (${controller.map((ms) => ms.toFixed(0))})`,
  );
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
