/** Names and values of one sample's labels. Values are closed sets or names of objects: no foreign text becomes one. */
type Labels<L extends string> = Readonly<Record<L, string>>;

/** Only goes up; its name ends in `_total`. */
export interface Counter<L extends string> {
  add(labels: Labels<L>, by?: number): void;
}

export interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void;
  /** The samples of the family as they stand now: those that are not among them, or have no value, are gone. */
  replace(samples: Iterable<readonly [Labels<L>, number | undefined]>): void;
}

export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
}

/**
 * What one process tells Prometheus. Names follow its conventions: the prefix `sluice_`, base units with their name at
 * the end (`_seconds`, `_bytes`), `_timestamp_seconds` for points in time, `_total` for counters.
 */
export interface Metrics {
  /** A counter without labels shows as 0 from the beginning. Throws where the name is taken or not well formed. */
  counter<const L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  gauge<const L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>;
  /** @param bounds upper bounds of the buckets, ascending; +Inf is added. */
  histogram<const L extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    labels?: readonly L[],
  ): Histogram<L>;
  /** Called before each rendering: sets the gauges that are cheaper to read than to keep. One that throws is left out. */
  beforeRender(read: () => void | Promise<void>): void;
  /** Every family that is registered, in the order of their names: for the page of documentation. */
  families(): readonly MetricFamily[];
  /** The text format of Prometheus, version 0.0.4. */
  render(): Promise<string>;
}

export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Samples that one family may have: labels that turn out not to be a closed set must not fill the memory. */
export const samplesMax = 5_000;

interface Family extends MetricFamily {
  lines(): Iterable<string>;
}

const nameForm = /^[a-z][a-z0-9_]*$/;

/** An empty set of metrics. */
export function createMetrics(): Metrics {
  const families = new Map<string, Family>();
  const readers: (() => void | Promise<void>)[] = [];

  function register(family: Family): void {
    const { name, type, labels } = family;
    if (families.has(name)) throw new Error(`the metric ${name} is registered twice`);
    for (const each of [name, ...labels]) {
      if (!nameForm.test(each)) throw new Error(`'${each}' is no name of a metric or label`);
    }
    if ((type === 'counter') !== name.endsWith('_total')) {
      throw new Error(`${name}: counters, and they alone, end in _total`);
    }
    families.set(name, family);
  }

  function values<L extends string>(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    labels: readonly L[],
  ): Map<string, number> {
    const samples = new Map<string, number>();
    if (type === 'counter' && labels.length === 0) samples.set('', 0);
    register({
      name,
      type,
      help,
      labels,
      *lines() {
        for (const [key, value] of samples) yield `${name}${key} ${numberText(value)}`;
      },
    });
    return samples;
  }

  return {
    counter(name, help, labels = []) {
      const samples = values('counter', name, help, labels);
      return {
        add(given, by = 1) {
          const key = labelText(labels, given);
          const before = samples.get(key);
          if (before === undefined && samples.size >= samplesMax) return;
          samples.set(key, (before ?? 0) + by);
        },
      };
    },
    gauge(name, help, labels = []) {
      const samples = values('gauge', name, help, labels);
      const set = (given: Labels<(typeof labels)[number]>, value: number) => {
        const key = labelText(labels, given);
        if (samples.has(key) || samples.size < samplesMax) samples.set(key, value);
      };
      return {
        set,
        replace(given) {
          samples.clear();
          for (const [each, value] of given) if (value !== undefined) set(each, value);
        },
      };
    },
    histogram(name, help, bounds, labels = []) {
      const samples = new Map<
        string,
        { given: Labels<(typeof labels)[number]>; counts: number[]; sum: number }
      >();
      const edges = [...bounds.map(numberText), '+Inf'];
      register({
        name,
        type: 'histogram',
        help,
        labels,
        *lines() {
          for (const [key, { given, counts, sum }] of samples) {
            let total = 0;
            for (const [index, le] of edges.entries()) {
              total += counts[index] ?? 0;
              yield `${name}_bucket${labelText([...labels, 'le'], { ...given, le })} ${total}`;
            }
            yield `${name}_sum${key} ${numberText(sum)}`;
            yield `${name}_count${key} ${total}`;
          }
        },
      });
      return {
        observe(given, value) {
          const key = labelText(labels, given);
          let sample = samples.get(key);
          if (sample === undefined) {
            if (samples.size >= samplesMax) return;
            sample = { given, counts: new Array<number>(edges.length).fill(0), sum: 0 };
            samples.set(key, sample);
          }
          const index = bounds.findIndex((bound) => value <= bound);
          const bucket = index === -1 ? bounds.length : index;
          sample.counts[bucket] = (sample.counts[bucket] ?? 0) + 1;
          sample.sum += value;
        },
      };
    },
    beforeRender: (read) => void readers.push(read),
    families: () => inOrder(families).map(({ name, type, help, labels }) => ({ name, type, help, labels })),
    async render() {
      // What cannot be read now shows as it was read last: a scrape is worth more than one gauge.
      for (const read of readers)
        await Promise.resolve()
          .then(read)
          .catch(() => {});
      const lines: string[] = [];
      for (const family of inOrder(families)) {
        lines.push(`# HELP ${family.name} ${helpText(family.help)}`, `# TYPE ${family.name} ${family.type}`);
        lines.push(...family.lines());
      }
      return `${lines.join('\n')}\n`;
    },
  };
}

function inOrder(families: ReadonlyMap<string, Family>): Family[] {
  return [...families.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `{a="x",b="y"}`, or nothing where there are no labels. */
function labelText<L extends string>(names: readonly L[], given: Labels<L>): string {
  if (names.length === 0) return '';
  const escaped = (text: string) =>
    text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `{${names.map((name) => `${name}="${escaped(given[name])}"`).join(',')}}`;
}

function helpText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
