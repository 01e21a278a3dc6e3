import type { AnyObject } from '../../src/api/core.ts';
import { renderCrds } from '../../src/api/crds.ts';
import { applyObject } from '../../src/kube/apply.ts';
import { createIdentities, type TestCluster, type TestClusterOptions } from '../identities.ts';
import { startRealCluster } from './real.ts';

/** As `startTestCluster`, on a real kube-apiserver: the product's own suites run on it unchanged. */
export async function startRealTestCluster(
  options: TestClusterOptions & {
    readonly nodes?: boolean;
    /** Nothing of ours is in it yet. Default false. */
    readonly empty?: boolean;
  },
): Promise<TestCluster> {
  const real = await startRealCluster({
    nodes: options.nodes === true,
    ...(options.nodeRules === undefined ? {} : { nodeRules: options.nodeRules }),
  });
  const identities = createIdentities(real);
  const client = await identities.clientAs('admin', ['system:masters']);
  const ours = options.empty === true ? [] : renderCrds('standalone');
  const crds = [...ours, ...(options.crds ?? [])] as AnyObject[];
  for (const object of [...crds, ...((options.bootstrap ?? []) as AnyObject[])]) {
    await applyObject(client, object);
  }
  // What the definitions promise is served a moment after they stand; the kinds' schemas a little later.
  for (const crd of crds) {
    const { group, versions, names } = crd.spec as {
      group: string;
      versions: { name: string }[];
      names: { plural: string };
    };
    const path = `/apis/${group}/${versions[0]?.name}/${names.plural}`;
    await eventually(() => client.raw({ path }));
  }
  return {
    engine: 'real',
    ...identities,
    client,
    url: real.url,
    port: Number(new URL(real.url).port),
    kubeconfig: real.kubeconfig,
    dir: real.dir,
    authority: real.authority,
    caPem: real.authority.certPem,
    restart: real.restart,
    async close() {
      await identities.close();
      await real.close();
    },
  };
}

const establishedMs = 20_000;

async function eventually(ask: () => Promise<unknown>): Promise<void> {
  for (const end = Date.now() + establishedMs; ; ) {
    try {
      await ask();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
