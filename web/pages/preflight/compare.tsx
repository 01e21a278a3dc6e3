import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { useNavigation } from '../../app/navigation.tsx';
import { useNow } from '../../data/hooks.ts';
import { words } from '../../words/english.ts';
import { formatRelative } from '../../words/format.ts';
import { ResultWord } from './labels.tsx';
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
    <div className="sluice-stack-small">
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
    </div>
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
      <Table aria-label={said.title} variant="compact">
        <Thead>
          <Tr>
            <Th>{words.preflight.checkColumns.name}</Th>
            <Th>{said.here(here)}</Th>
            <Th>{there}</Th>
          </Tr>
        </Thead>
        <Tbody>
          {rows.map((row) => (
            <Tr key={row.name} className={row.differs ? 'sluice-differs' : ''} data-differs={row.differs}>
              <Td dataLabel={words.preflight.checkColumns.name} modifier="breakWord">
                {row.name}
                <div className="sluice-small">{row.component}</div>
              </Td>
              <Td dataLabel={said.here(here)}>
                <Side result={row.here} />
              </Td>
              <Td dataLabel={there}>
                <Side result={row.there} />
              </Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
    </>
  );
}

function Side({ result }: { readonly result: string | undefined }) {
  switch (result) {
    case undefined:
      return <span className="sluice-small">{said.absent}</span>;
    case 'quiet':
      return <span className="sluice-small">{said.quiet}</span>;
    case 'unknown':
      return <span className="sluice-small">{said.unknown}</span>;
    default:
      return <ResultWord result={result} />;
  }
}
