import { countRequests, methodLabel } from '../http/request-metrics.ts';
import type { Handler } from '../http/server.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { TreeSet } from './tree-set.ts';

const kindForm = /^\/v2\/.+\/(manifests|blobs|tags|referrers)\//;

/** What a registry tells Prometheus: its answers by what was asked for, and how many of its trees it can serve. */
export function observeRegistry(metrics: Metrics, trees: TreeSet, next: Handler): Handler {
  const served = metrics.gauge(
    'sluice_registry_trees',
    'Store, media and peers to answer from: wanted, and open.',
    ['state'],
  );
  metrics.beforeRender(() => {
    const { wanted, open } = trees.tally();
    served.replace([
      [{ state: 'wanted' }, wanted],
      [{ state: 'open' }, open],
    ]);
  });
  return countRequests(
    metrics,
    'sluice_registry',
    ['method', 'kind'],
    (request) => ({ method: methodLabel(request), kind: kindForm.exec(request.url ?? '')?.[1] ?? 'other' }),
    next,
  );
}
