/** `differs`: the embedded API was held to what docs/embedded-api.md says of the difference, and does that. */
export type Outcome = 'passed' | 'failed' | 'skipped' | 'differs';

/** One row of the report; `listed` where docs/embedded-api.md tells of a difference. */
export interface ReportedCase {
  readonly name: string;
  readonly embedded: Outcome;
  readonly real: Outcome;
  readonly listed: boolean;
}

/** Both columns as a table, with a last line of totals. `realMissing`: why the real engine did not run. */
export function reportText(cases: readonly ReportedCase[], realMissing?: string): string {
  const lines = cases.map(({ name, embedded, real, listed }) =>
    `  ${embedded.padEnd(9)} ${real.padEnd(9)} ${listed ? 'listed' : '      '}  ${name}`.trimEnd(),
  );
  const unequal = cases.filter(
    ({ embedded, real, listed }) => real !== 'skipped' && embedded !== real && !listed,
  );
  const failed = cases.filter(({ embedded, real }) => embedded === 'failed' || real === 'failed');
  const differences = cases.filter(({ listed }) => listed).length;
  const total =
    realMissing === undefined
      ? `${cases.length} cases on both engines: ${unequal.length} unequal, ${failed.length} failed, ${differences} listed differences`
      : `${cases.length} cases on the embedded engine: ${failed.length} failed; not compared (${realMissing})`;
  return ['', '  embedded  real', ...lines, '', total, ''].join('\n');
}
