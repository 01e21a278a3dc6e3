import assert from 'node:assert/strict';
import type { ConfigMap } from '../src/api/core.ts';
import { names } from '../src/api/names.ts';
import { systemClock } from '../src/observe/clock.ts';
import { openEnvelope } from '../src/trust/dsse.ts';
import { parseTrustedKey } from '../src/trust/keys.ts';
import { recordKeys, recordLabel } from '../src/update/record.ts';
import { readStatement, type UpdateReport } from '../src/update/report.ts';
import { reportKeyKeys, reportKeyName } from '../src/update/reporter.ts';
import type { ControlPlane } from './control-plane.ts';

/** Every signed report of a cluster, verified by its published key. */
export async function reportsIn({
  client,
}: Pick<ControlPlane, 'client'>): Promise<{ object: ConfigMap; report: UpdateReport }[]> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.ConfigMap;
  const { items } = await client.list(kind, { namespace, labelSelector: recordLabel });
  const signed = items.filter(({ data }) => data?.[recordKeys.report] !== undefined);
  if (signed.length === 0) return [];
  const published = await client.get(kind, reportKeyName, namespace);
  const key = parseTrustedKey('cluster', published.data?.[reportKeyKeys.publicKey] ?? '');
  return signed.map((object) => {
    const { body } = openEnvelope(object.data?.[recordKeys.report] ?? '', [key]);
    return { object, report: readStatement(body) };
  });
}

/** The one report of the update to this version, once it is there. */
export async function reportOf(
  plane: Pick<ControlPlane, 'client'>,
  version: string,
): Promise<{ object: ConfigMap; report: UpdateReport }> {
  for (let left = 200; left > 0; left -= 1) {
    const found = (await reportsIn(plane)).filter(({ report }) => report.accepted.to.version === version);
    assert.ok(found.length <= 1, `${found.length} reports of ${version}`);
    if (found[0] !== undefined) return found[0];
    await systemClock.sleep(50);
  }
  throw new Error(`no report of the update to ${version}`);
}
