import assert from 'node:assert/strict';
import type { KindRef } from '../../src/api/kinds.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createKubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { writeTokenConfig } from './kubernetes.ts';
import type { RealCluster } from './real.ts';

/**
 * Tries in the name of the agent of `node` whatever an agent that was taken over could try: it writes the objects of
 * its own node, and of no other, in no part of them, and with a token of no node none at all.
 */
export async function assertOwnObjectsOnly(
  real: RealCluster,
  admin: KubeClient,
  agent: { readonly account: string; readonly namespace: string; readonly node: string },
): Promise<void> {
  const { account, namespace, node } = agent;
  const other = 'somebody-else';
  const { kinds } = admin;
  const written: readonly KindRef[] =
    account === 'sluice-node' ? [kinds.NodeUpdate, kinds.MachineConfigNode] : [kinds.NodeUpdate];
  const empty = (kind: KindRef, name: string) =>
    ({
      metadata: { name },
      spec:
        kind === kinds.NodeUpdate
          ? {}
          : { node: { name }, pool: { name: 'x' }, configVersion: { desired: 'not-yet-set' } },
    }) as never;
  const status = (kind: KindRef) => ({
    status: kind === kinds.NodeUpdate ? { agent: 'x' } : { conditions: [] },
  });
  const as = async (name: string, given?: string) => {
    const config = await writeTokenConfig(real, admin, `${account}-${name}`, account, given, namespace);
    return createKubeClient({ ...loadKubeconfig(config), platform: admin.platform });
  };
  const [own, ofNoNode] = await Promise.all([as('own', node), as('none')]);
  try {
    for (const kind of written) {
      await admin.create(kind, empty(kind, other));
      const at = { subresource: 'status' };
      await own.patch(kind, node, status(kind), at);
      const foreign = new RegExp(`may only write the objects of its own node, not ${other}`);
      await assert.rejects(own.patch(kind, other, status(kind), at), foreign, kind.kind);
      await assert.rejects(own.create(kind, empty(kind, `${other}-2`)), /its own node, not/, kind.kind);
      await assert.rejects(
        ofNoNode.patch(kind, node, status(kind), at),
        /is no node and may only/,
        kind.kind,
      );
      for (const name of [node, other]) {
        const change = { metadata: { finalizers: ['example.com/x'] } };
        await assert.rejects(own.patch(kind, name, change), /forbidden/, `${kind.kind}: what is asked of it`);
        await assert.rejects(own.delete(kind, name), /forbidden/, kind.kind);
      }
      await admin.delete(kind, other);
    }
  } finally {
    await own.close();
    await ofNoNode.close();
  }
}
