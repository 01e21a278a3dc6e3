import { statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { countRequests, methodLabel } from '../http/request-metrics.ts';
import type { Handler } from '../http/server.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RevisionStore } from './store/revisions.ts';

/** What kind of path was asked for: a few words, never the path itself. */
function kindOf(request: IncomingMessage): string {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  if (/^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/./.test(path)) {
    return /(?:^|&)watch=(?:true|1)(?:&|$)/.test(query) ? 'watch' : 'resource';
  }
  if (/^\/(?:livez|readyz|healthz|metrics)/.test(path)) return 'health';
  return /^\/(?:api|apis|openapi|version)/.test(path) ? 'discovery' : 'other';
}

/** What the embedded API tells Prometheus: its answers, and how large what it keeps has become. */
export function observeApiServer(
  metrics: Metrics,
  store: RevisionStore,
  file: string,
  next: Handler,
): Handler {
  const revision = metrics.gauge('sluice_apiserver_revision', 'Writes since the cluster was made.');
  const size = metrics.gauge('sluice_apiserver_database_bytes', 'The database and its log on the disk.');
  metrics.beforeRender(() => {
    revision.set({}, store.revision);
    const bytes = [file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    size.set(
      {},
      bytes.reduce((sum, each) => sum + each, 0),
    );
  });
  return countRequests(
    metrics,
    'sluice_apiserver',
    ['method', 'kind'],
    (request) => ({ method: methodLabel(request), kind: kindOf(request) }),
    next,
  );
}
