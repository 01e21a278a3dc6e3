import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { useNavigation } from '../../app/navigation.tsx';
import { useNow } from '../../data/hooks.ts';
import { CheckLabel } from '../../parts/check-table.tsx';
import { Listing } from '../../parts/listing.tsx';
import { words } from '../../words/english.ts';
import { formatRelative } from '../../words/format.ts';
import { type ComparedRow, compareReports, type Other, otherOf, runPrefix, targetOf } from './report.ts';

const said = words.preflight.compare;

/** Chooses an earlier run or another target, and shows both side by side. */
export function Compare({
  object,
  preflights,
  word,
}: {
  readonly object: UpdatePreflight;
  readonly preflights: readonly UpdatePreflight[];
  readonly word: string | undefined;
}) {
  const { go } = useNavigation();
  const now = useNow(60_000);
  const { name } = object.metadata;
  const other = otherOf(word, object, preflights);
  const runs = object.status?.history ?? [];
  const others = preflights.filter(({ metadata }) => metadata.name !== name);
  const choose = (value: string) =>
    go({ page: 'preflight', name, ...(value === '' ? {} : { with: value }) }, { replace: true });
  const runName = (run: (typeof runs)[number]) =>
    said.run(
      run.verdict,
      run.finishedAt === undefined ? run.runID : formatRelative(Date.parse(run.finishedAt), now),
    );
  if (runs.length === 0 && others.length === 0) return <p>{said.nothing}</p>;
  return (
    <>
      <FormSelect
        id="compare-with"
        aria-label={said.with}
        value={other === undefined ? '' : (word ?? '')}
        onChange={(_, value) => choose(value)}
        className="sluice-narrow"
      >
        <FormSelectOption value="" label={said.choose} isPlaceholder />
        {[
          ...runs.map((run) => ({ value: `${runPrefix}${run.runID}`, label: runName(run) })),
          ...others.map((each) => ({
            value: each.metadata.name,
            label: said.target(targetOf(each), each.metadata.name),
          })),
        ].map(({ value, label }) => (
          <FormSelectOption key={value} value={value} label={label} />
        ))}
      </FormSelect>
      {word !== undefined && other === undefined ? <p>{said.gone}</p> : null}
      {other === undefined ? null : (
        <Compared
          rows={compareReports(object, other)}
          here={targetOf(object)}
          there={titleOf(other, runName)}
        />
      )}
    </>
  );
}

function titleOf(other: Other, runName: (run: Extract<Other, { kind: 'run' }>['run']) => string): string {
  return other.kind === 'run' ? runName(other.run) : targetOf(other.object);
}

function Compared({
  rows,
  here,
  there,
}: {
  readonly rows: readonly ComparedRow[];
  readonly here: string;
  readonly there: string;
}) {
  const different = rows.filter(({ differs }) => differs).length;
  return (
    <>
      <p className="sluice-small" role="status">
        {said.differ(different, rows.length)}
      </p>
      <Listing
        name={said.title}
        columns={[{ text: words.checks.columns.check, holds: 'words' }, said.here(here), there]}
        rows={rows.map((row) => ({
          key: row.name,
          isMarked: row.differs,
          data: { 'data-differs': row.differs },
          cells: [
            <div key="name">
              {row.name}
              <div className="sluice-small">
                {row.component === '' ? words.checks.builtIn : words.checks.from(row.component)}
              </div>
            </div>,
            <Side key="here" state={row.here} />,
            <Side key="there" state={row.there} />,
          ],
        }))}
      />
    </>
  );
}

function Side({ state }: { readonly state: ComparedRow['there'] }) {
  switch (state) {
    case undefined:
      return <span className="sluice-small">{said.absent}</span>;
    case 'quiet':
      return <span className="sluice-small">{said.quiet}</span>;
    case 'unknown':
      return <span className="sluice-small">{said.unknown}</span>;
    default:
      return <CheckLabel state={state} />;
  }
}
