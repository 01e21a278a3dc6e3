import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerDirectory, endless } from '../../tests/endless.ts';
import { needs } from '../../tests/tier.ts';
import { claimFile } from '../durable/claim.ts';
import { openRunner, probeRunner } from '../workload/probe.ts';
import { upLayout } from './layout.ts';
import { clearLeftovers } from './leftovers.ts';
import { type UpState, writeState } from './state.ts';

test('what a killed cluster left of its containers is ended, on every node', needs('busybox'), async (t) => {
  const placesOf = (dir: string) =>
    upLayout(dir)
      .nodes(2, 62)
      .map(({ containers }) => containers);
  const dir = containerDirectory(t, 'leftovers', placesOf);
  const layout = upLayout(dir);
  assert.equal(await clearLeftovers(layout), false, 'no cluster was ever started here');
  // No process has this start time, so the cluster is dead.
  await writeState(layout, { pid: process.pid, startTicks: -1 } as unknown as UpState);
  const places = placesOf(dir);
  for (const containers of places) {
    const runner = await openRunner(containers, await probeRunner(containers, 'sandbox'));
    await runner.start(endless(containers));
    await runner.close();
  }

  const claim = await claimFile(layout.claim);
  await assert.rejects(clearLeftovers(layout), { code: 'Conflict', message: /just being started/ });
  claim?.release();

  assert.equal(await clearLeftovers(layout), true);
  for (const containers of places) {
    const runner = await openRunner(containers, await probeRunner(containers, 'sandbox'));
    assert.deepEqual(
      (await runner.list()).map(({ state }) => state.phase),
      ['exited'],
    );
    await runner.close();
  }
});
