import { after, describe, test } from 'node:test';
import { startTestCluster } from '../cluster.ts';
import { startRealCluster } from '../engine/real.ts';
import { accessCases } from './access.ts';
import { crudCases } from './crud.ts';
import { customCases } from './custom.ts';
import { discoveryCases } from './discovery.ts';
import { type ContractCase, type ContractEngine, createContractEngine } from './environment.ts';
import { expressionCases } from './expressions.ts';
import { judgementCases } from './judgement.ts';
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
  ['judgement', judgementCases],
  ['expressions', expressionCases],
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

// A cluster that stands, or one of our own making: built from its Go modules at the first time, which takes minutes.
const standing = process.env.SLUICE_TEST_KUBECONFIG;
const made =
  standing === undefined && process.env.SLUICE_TEST_ENGINE === 'real' ? await startRealCluster() : undefined;
const realKubeconfig = standing ?? made?.kubeconfig;
if (realKubeconfig !== undefined) {
  const real = createContractEngine('real', realKubeconfig);
  after(async () => {
    await real.close();
    await made?.close();
  });
  describe('real API', () => runCases(real));
}
