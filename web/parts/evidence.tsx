import { useEffect, useState } from 'react';
import type { Pod } from '../../src/api/core.ts';
import type { UpdatePreflightStatusCheck } from '../../src/api/resources.ts';
import { collectionPath } from '../data/cluster.ts';
import { useConsole } from '../data/hooks.ts';
import { words } from '../words/english.ts';
import { FactList } from './fact-list.tsx';

const said = words.checks.evidence;

/** What a result rests on: the reason in one word, the objects, and the end of the log. */
export function Evidence({ check }: { readonly check: UpdatePreflightStatusCheck }) {
  const { reason, objects = [], job } = check;
  if (reason === undefined && objects.length === 0 && job === undefined) return <p>{said.none}</p>;
  return (
    <FactList
      beside
      rows={[
        [said.reason, reason],
        [
          said.objects,
          objects.length === 0 ? undefined : (
            <ul key="objects" className="sluice-lines">
              {objects.map((each) => (
                <li key={each}>
                  <code>{each}</code>
                </li>
              ))}
            </ul>
          ),
        ],
        [said.job, job === undefined ? undefined : <code key="job">{job}</code>],
        [said.log, job === undefined ? undefined : <LogTail key="log" job={job} />],
      ]}
    />
  );
}

/** Lines of the log that are shown. */
const tailLines = 50;

type Log = { readonly at: 'reading' } | { readonly at: 'gone' | 'read'; readonly text: string };

/** The end of what the check wrote, as long as its Pod stands. */
function LogTail({ job }: { readonly job: string }) {
  const { api, cluster } = useConsole();
  const [log, setLog] = useState<Log>({ at: 'reading' });
  useEffect(() => {
    const [namespace = '', name = ''] = job.split('/');
    const abort = new AbortController();
    const pods = collectionPath(cluster.kinds.Pod, namespace);
    const read = async (): Promise<Log> => {
      const selector = new URLSearchParams({ labelSelector: `batch.kubernetes.io/job-name=${name}` });
      const { items } = await api.read<{ items: Pod[] | null }>(`cluster${pods}?${selector}`, abort.signal);
      const pod = items?.at(-1);
      if (pod === undefined) return { at: 'gone', text: said.logGone };
      const words = new URLSearchParams({ tailLines: String(tailLines) });
      return {
        at: 'read',
        text: await api.text(`cluster${pods}/${pod.metadata.name}/log?${words}`, abort.signal),
      };
    };
    read().then(setLog, (error: unknown) => {
      if (!abort.signal.aborted)
        setLog({ at: 'gone', text: error instanceof Error ? error.message : String(error) });
    });
    return () => abort.abort();
  }, [api, cluster, job]);
  if (log.at === 'reading') return said.logReading;
  if (log.at === 'gone') return <span className="sluice-said">{log.text}</span>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section className="sluice-log" tabIndex={0} aria-label={said.log}>
      <pre>{log.text === '' ? said.logEmpty : log.text}</pre>
    </section>
  );
}
