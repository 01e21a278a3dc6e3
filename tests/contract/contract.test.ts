import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { writeJson } from '../../src/durable/file.ts';
import { startTestCluster } from '../cluster.ts';
import { needsRealEngine, startRealCluster } from '../engine/real.ts';
import { repository } from '../tier.ts';
import { subjects } from './cases.ts';
import { type ContractCase, type ContractEngine, createContractEngine } from './environment.ts';
import { type Outcome, type ReportedCase, reportText } from './report.ts';

const outcomes = new Map<ContractCase, { embedded: Outcome; real: Outcome; reason?: string }>();
const all = subjects.flatMap(([, cases]) => cases);
for (const one of all) outcomes.set(one, { embedded: 'skipped', real: 'skipped' });

function runCases(engine: ContractEngine): void {
  for (const [subject, cases] of subjects) {
    describe(subject, () => {
      for (const one of cases) {
        const differs = engine.name === 'embedded' ? one.differs : undefined;
        test(
          differs === undefined ? one.name : `${one.name} (listed: the embedded API differs)`,
          async () => {
            const outcome = outcomes.get(one);
            assert.ok(outcome);
            outcome[engine.name] = 'failed';
            const env = await engine.environment();
            try {
              await (differs ?? one).run(env);
              outcome[engine.name] = differs === undefined ? 'passed' : 'differs';
            } finally {
              await env.client.delete(env.client.kinds.Namespace, env.namespace);
            }
          },
        );
      }
    });
  }
}

describe('embedded API', async () => {
  const cluster = await startTestCluster();
  const engine = createContractEngine('embedded', cluster.kubeconfig);
  after(async () => {
    await engine.close();
    await cluster.close();
  });
  runCases(engine);
});

// A cluster that stands, or one of our own making, where its programs are there or can be built.
const standing = process.env.SLUICE_TEST_KUBECONFIG;
const missing = standing === undefined ? needsRealEngine() : {};
describe('real API', missing, async () => {
  if (missing.skip !== undefined) return;
  const made = standing === undefined ? await startRealCluster() : undefined;
  const engine = createContractEngine('real', standing ?? made?.kubeconfig ?? '');
  after(async () => {
    await engine.close();
    await made?.close();
  });
  runCases(engine);
});

test('every difference that the documentation lists is a case, and every case that differs is listed', () => {
  const text = readFileSync(join(repository, 'docs', 'embedded-api.md'), 'utf8');
  const section = text.split('## Where it differs from a real kube-apiserver\n')[1]?.split('\n## ')[0] ?? '';
  const rows = section
    .split(/^- /m)
    .slice(1)
    .map((row) => row.replaceAll(/\s+/g, ' ').trim());
  const listed = all.flatMap(({ differs }) => (differs === undefined ? [] : [differs.row]));
  assert.deepEqual([...new Set(listed)].sort(), [...rows].sort());
});

test('case names are different, and there are enough of them', () => {
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
  assert.ok(all.length >= 100, `${all.length} cases`);
});

after(async () => {
  const cases: ReportedCase[] = subjects.flatMap(([subject, group]) =>
    group.map((one) => ({
      name: `${subject}: ${one.name}`,
      embedded: outcomes.get(one)?.embedded ?? 'skipped',
      real: outcomes.get(one)?.real ?? 'skipped',
      listed: one.differs !== undefined,
    })),
  );
  process.stdout.write(reportText(cases, missing.skip));
  const file = process.env.SLUICE_CONTRACT_REPORT;
  if (file !== undefined) await writeJson(file, { cases });
});
