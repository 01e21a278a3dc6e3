import { SearchInput } from '@patternfly/react-core/dist/dynamic/components/SearchInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/dynamic/components/ToggleGroup';
import {
  ExpandableRowContent,
  Table,
  Tbody,
  Td,
  Th,
  Thead,
  Tr,
} from '@patternfly/react-table/dist/dynamic/components/Table';
import { useState } from 'react';
import type { UpdatePreflight, UpdatePreflightStatusCheck } from '../../../src/api/resources.ts';
import { useAct } from '../../data/use-act.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Failed } from '../../parts/failed.tsx';
import { words } from '../../words/english.ts';
import { AcceptDialog } from './accept.tsx';
import { Evidence } from './evidence.tsx';
import { ResultLabel } from './labels.tsx';
import { canAccept, countResults, filterChecks, type Result, results, targetOf } from './report.ts';

const said = words.preflight;

/** The checks of a report, by their results and words; each opens to what it rests on. */
export function Checks({ object }: { readonly object: UpdatePreflight }) {
  const checks = object.status?.checks ?? [];
  const counts = countResults(checks);
  const [wanted, setWanted] = useState<ReadonlySet<Result>>(new Set());
  const [text, setText] = useState('');
  const shown = filterChecks(checks, wanted, text);
  const toggle = (result: Result) => {
    const next = new Set(wanted);
    if (!next.delete(result)) next.add(result);
    setWanted(next);
  };
  return (
    <div className="sluice-stack-small">
      <div className="sluice-filter">
        <ToggleGroup aria-label={said.filterResults} isCompact>
          {results.map((result) => (
            <ToggleGroupItem
              key={result}
              text={said.filterCount(said.results[result] ?? result, counts[result])}
              buttonId={`result-${result}`}
              isSelected={wanted.has(result)}
              isDisabled={counts[result] === 0}
              onChange={() => toggle(result)}
            />
          ))}
        </ToggleGroup>
        <SearchInput
          aria-label={said.find}
          placeholder={said.find}
          value={text}
          onChange={(_, value) => setText(value)}
          onClear={() => setText('')}
        />
      </div>
      <p className="sluice-small" role="status">
        {said.shown(shown.length, checks.length)}
      </p>
      {shown.length === 0 ? null : <CheckTable object={object} checks={shown} />}
    </div>
  );
}

const columnCount = 5;

function CheckTable({
  object,
  checks,
}: {
  readonly object: UpdatePreflight;
  readonly checks: readonly UpdatePreflightStatusCheck[];
}) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string) => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  const { name: check, result, summary, since } = said.checkColumns;
  return (
    <Table aria-label={said.checks} variant="compact">
      <Thead>
        <Tr>
          <Th screenReaderText={said.details} />
          <Th>{check}</Th>
          <Th>{result}</Th>
          <Th>{summary}</Th>
          <Th>{since}</Th>
        </Tr>
      </Thead>
      {checks.map((each, rowIndex) => {
        const isExpanded = open.has(each.name);
        return (
          <Tbody key={each.name} isExpanded={isExpanded} data-check={each.name}>
            <Tr>
              <Td
                expand={{
                  rowIndex,
                  isExpanded,
                  onToggle: () => toggle(each.name),
                  expandId: 'check',
                }}
              />
              <Td dataLabel={check} modifier="breakWord">
                {each.name}
                <div className="sluice-small">{each.component ?? said.builtIn}</div>
              </Td>
              <Td dataLabel={result}>
                <ResultLabel check={each} />
              </Td>
              <Td dataLabel={summary} modifier="breakWord">
                <span className="sluice-said">{each.message}</span>
                <Acceptance object={object} check={each} />
              </Td>
              <Td dataLabel={since}>
                <Ago at={each.since} />
              </Td>
            </Tr>
            {isExpanded ? (
              <Tr isExpanded>
                <Td colSpan={columnCount}>
                  <ExpandableRowContent>
                    <Evidence check={each} />
                  </ExpandableRowContent>
                </Td>
              </Tr>
            ) : null}
          </Tbody>
        );
      })}
    </Table>
  );
}

/** The buttons by which a risk is let through, or is not any more. */
function Acceptance({
  object,
  check,
}: {
  readonly object: UpdatePreflight;
  readonly check: UpdatePreflightStatusCheck;
}) {
  const [asking, setAsking] = useState(false);
  const withdraw = useAct('withdrawRisk');
  if (!canAccept(check)) return null;
  const version = targetOf(object);
  const reason = object.spec.acceptedRisks?.find(({ name }) => name === check.name)?.reason;
  if (check.accepted === true) {
    return (
      <div>
        <div className="sluice-small">{said.acceptedBecause(reason ?? said.noReason)}</div>
        <ActionButton
          action="withdrawRisk"
          variant="link"
          isInline
          isLoading={withdraw.busy}
          onClick={() => void withdraw.act({ version, risk: check.name })}
        />
        <Failed failure={withdraw.failure} />
      </div>
    );
  }
  return (
    <div>
      <ActionButton action="acceptRisk" variant="link" isInline onClick={() => setAsking(true)}>
        {said.accept.button}
      </ActionButton>
      {asking ? (
        <AcceptDialog
          risk={check.name}
          message={check.message ?? ''}
          version={version}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </div>
  );
}
