import { after, describe, test } from 'node:test';
import { startTestCluster } from '../cluster.ts';
import { accessCases } from './access.ts';
import { crudCases } from './crud.ts';
import { customCases } from './custom.ts';
import { discoveryCases } from './discovery.ts';
import { type ContractCase, type ContractEngine, createContractEngine } from './environment.ts';
import { lifecycleCases } from './lifecycle.ts';
import { listCases } from './list.ts';
import { patchCases } from './patch.ts';
import { watchCases } from './watch.ts';

const subjects: readonly [subject: string, cases: readonly ContractCase[]][] = [
  ['objects', crudCases],
  ['lists', listCases],
  ['watches', watchCases],
  ['patches', patchCases],
  ['lifecycle', lifecycleCases],
  ['custom kinds', customCases],
  ['discovery and tables', discoveryCases],
  ['identities and rights', accessCases],
];

function runCases(engine: ContractEngine): void {
  for (const [subject, cases] of subjects) {
    describe(subject, () => {
      for (const one of cases) {
        const differs = engine.name === 'embedded' ? one.embeddedDiffers : undefined;
        const skip = differs === undefined ? {} : { skip: `listed difference: ${differs}` };
        test(one.name, skip, async () => {
          const env = await engine.environment();
          try {
            await one.run(env);
          } finally {
            await env.client.delete(env.client.kinds.Namespace, env.namespace);
          }
        });
      }
    });
  }
}

const cluster = await startTestCluster();
const embedded = createContractEngine('embedded', cluster.kubeconfig);
after(async () => {
  await embedded.close();
  await cluster.close();
});

describe('embedded API', () => runCases(embedded));

const realKubeconfig = process.env.SLUICE_TEST_KUBECONFIG;
if (realKubeconfig !== undefined) {
  const real = createContractEngine('real', realKubeconfig);
  after(() => real.close());
  describe('real API', () => runCases(real));
}
