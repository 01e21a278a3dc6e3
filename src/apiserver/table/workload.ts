import { type KubeObject, list, record } from '../object.ts';
import { age, type Column, column, name } from './column.ts';
import { ageOf, humanDuration } from './duration.ts';

const podSpecOf = (object: KubeObject): Record<string, unknown> => {
  const spec = record(object.spec);
  const job = spec.jobTemplate === undefined ? spec : record(record(spec.jobTemplate).spec);
  return record(record(job.template).spec);
};

const containers = (object: KubeObject) => list(podSpecOf(object).containers).map(record);

const templateColumns: readonly Column[] = [
  column(
    'Containers',
    ({ object }) =>
      containers(object)
        .map((container) => container.name)
        .join(','),
    {
      priority: 1,
    },
  ),
  column(
    'Images',
    ({ object }) =>
      containers(object)
        .map((container) => container.image)
        .join(','),
    {
      priority: 1,
    },
  ),
  column('Selector', ({ object }) => formatSelector(record(object.spec).selector), { priority: 1 }),
];

const count = (title: string, field: string): Column =>
  column(title, ({ object }) => record(object.status)[field] ?? 0, { type: 'integer' });

/** Tables of what makes Pods. */
export const workloadLayouts: Readonly<Record<string, readonly Column[]>> = {
  'deployments.apps': [
    name,
    column(
      'Ready',
      ({ object }) => `${record(object.status).readyReplicas ?? 0}/${record(object.spec).replicas ?? 1}`,
    ),
    count('Up-to-date', 'updatedReplicas'),
    count('Available', 'availableReplicas'),
    age,
    ...templateColumns,
  ],
  'statefulsets.apps': [
    name,
    column(
      'Ready',
      ({ object }) => `${record(object.status).readyReplicas ?? 0}/${record(object.spec).replicas ?? 1}`,
    ),
    age,
    ...templateColumns.slice(0, 2),
  ],
  'daemonsets.apps': [
    name,
    count('Desired', 'desiredNumberScheduled'),
    count('Current', 'currentNumberScheduled'),
    count('Ready', 'numberReady'),
    count('Up-to-date', 'updatedNumberScheduled'),
    count('Available', 'numberAvailable'),
    column('Node Selector', ({ object }) => formatLabels(podSpecOf(object).nodeSelector)),
    age,
    ...templateColumns,
  ],
  'jobs.batch': [
    name,
    column('Status', ({ object }) => jobStatus(object)),
    column('Completions', ({ object }) => completions(object)),
    column('Duration', ({ object, now }) => jobDuration(object, now)),
    age,
    ...templateColumns,
  ],
  'cronjobs.batch': [
    name,
    column('Schedule', ({ object }) => record(object.spec).schedule ?? ''),
    column('Timezone', ({ object }) => record(object.spec).timeZone ?? '<none>'),
    column('Suspend', ({ object }) => (record(object.spec).suspend === true ? 'True' : 'False')),
    column('Active', ({ object }) => list(record(object.status).active).length, { type: 'integer' }),
    column('Last Schedule', ({ object, now }) => {
      const last = record(object.status).lastScheduleTime;
      return last === undefined ? '<none>' : ageOf(last, now);
    }),
    age,
    ...templateColumns,
  ],
};

function jobStatus(job: KubeObject): string {
  const conditions = list(record(job.status).conditions).map(record);
  const holds = (type: string) =>
    conditions.some((condition) => condition.type === type && condition.status === 'True');
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (holds('Suspended')) return 'Suspended';
  if (holds('FailureTarget')) return 'FailureTarget';
  if (holds('SuccessCriteriaMet')) return 'SuccessCriteriaMet';
  return 'Running';
}

function completions(job: KubeObject): string {
  const spec = record(job.spec);
  const succeeded = record(job.status).succeeded ?? 0;
  if (spec.completions !== undefined && spec.completions !== null) return `${succeeded}/${spec.completions}`;
  const parallelism = Number(spec.parallelism ?? 0);
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: KubeObject, now: number): string {
  const { startTime, completionTime } = record(job.status);
  if (typeof startTime !== 'string') return '';
  const end = typeof completionTime === 'string' ? Date.parse(completionTime) : now;
  return humanDuration(end - Date.parse(startTime));
}

function formatLabels(value: unknown): string {
  const pairs = Object.entries(record(value)).map(([key, text]) => `${key}=${text}`);
  return pairs.sort().join(',') || '<none>';
}

/** A label selector in one line (apimachinery, FormatLabelSelector). */
function formatSelector(value: unknown): string {
  if (value === undefined || value === null) return '<none>';
  const { matchLabels, matchExpressions } = record(value);
  const parts = Object.entries(record(matchLabels)).map(([key, text]) => `${key}=${text}`);
  for (const expression of list(matchExpressions).map(record)) {
    const { key, operator } = expression;
    const values = list(expression.values).map(String).sort().join(',');
    if (operator === 'In') parts.push(`${key} in (${values})`);
    else if (operator === 'NotIn') parts.push(`${key} notin (${values})`);
    else parts.push(operator === 'Exists' ? String(key) : `!${key}`);
  }
  return parts.sort().join(',') || '<none>';
}
