import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { TextArea } from '@patternfly/react-core/dist/dynamic/components/TextArea';
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
import type { UpdatePreflightStatusCheck } from '../../src/api/resources.ts';
import { type CheckState, checkStateOf, isAcceptable, sortChecks } from '../data/checks.ts';
import { words } from '../words/english.ts';
import { ActDialog } from './act-dialog.tsx';
import { ActionButton } from './action-button.tsx';
import { Ago } from './ago.tsx';
import { Evidence } from './evidence.tsx';
import { StatusLabel, type Tone } from './status-label.tsx';

const said = words.checks;

const tones: Readonly<Record<CheckState, Tone>> = {
  passed: 'good',
  risk: 'danger',
  warning: 'warning',
  info: 'info',
  error: 'danger',
  accepted: 'warning',
  skipped: 'plain',
  running: 'working',
};

export function CheckLabel({ state }: { readonly state: CheckState }) {
  return <StatusLabel tone={tones[state]}>{said.states[state]}</StatusLabel>;
}

/** The report that checks are of: the release that it is about, and the risks that were accepted for it. */
export interface CheckedRelease {
  readonly version: string;
  readonly accepted: readonly { readonly name: string; readonly reason?: string }[];
}

const columnCount = 5;

/** Gates and checks with their results, worst first, each with what to do; each opens to what it rests on. */
export function CheckTable({
  checks,
  release,
  label,
}: {
  readonly checks: readonly UpdatePreflightStatusCheck[];
  readonly release: CheckedRelease;
  readonly label: string;
}) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<{ check: UpdatePreflightStatusCheck; taken: boolean }>();
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const { columns } = said;
  return (
    <>
      <Table aria-label={label} variant="compact" className="sluice-checks">
        <Thead>
          <Tr>
            <Th screenReaderText={said.details} />
            <Th width={15}>{columns.result}</Th>
            <Th width={25}>{columns.check}</Th>
            <Th>{columns.message}</Th>
            <Th screenReaderText={columns.actions} />
          </Tr>
        </Thead>
        {sortChecks(checks).map((check, rowIndex) => {
          const key = `${check.component ?? ''} ${check.name}`;
          const isExpanded = open.has(key);
          return (
            <Tbody key={key} isExpanded={isExpanded} data-check={check.name}>
              <Tr>
                <Td expand={{ rowIndex, isExpanded, onToggle: () => toggle(key), expandId: 'check' }} />
                <Td dataLabel={columns.result}>
                  <div>
                    <CheckLabel state={checkStateOf(check)} />
                  </div>
                </Td>
                <Td dataLabel={columns.check} modifier="breakWord">
                  <div>
                    {check.name}
                    <div className="sluice-small">
                      {check.component === undefined ? said.builtIn : said.from(check.component)}
                    </div>
                  </div>
                </Td>
                <Td dataLabel={columns.message} modifier="breakWord">
                  <Found check={check} release={release} />
                </Td>
                <Td className="sluice-actions">
                  {check.accepted === true ? (
                    <ActionButton
                      action="withdrawRisk"
                      variant="secondary"
                      size="sm"
                      onClick={() => setAsking({ check, taken: true })}
                    />
                  ) : isAcceptable(check) ? (
                    <ActionButton
                      action="acceptRisk"
                      variant="secondary"
                      size="sm"
                      onClick={() => setAsking({ check, taken: false })}
                    />
                  ) : null}
                </Td>
              </Tr>
              {isExpanded ? (
                <Tr isExpanded>
                  <Td colSpan={columnCount}>
                    <ExpandableRowContent>
                      <Evidence check={check} />
                    </ExpandableRowContent>
                  </Td>
                </Tr>
              ) : null}
            </Tbody>
          );
        })}
      </Table>
      {asking === undefined ? null : asking.taken ? (
        <ActDialog
          action="withdrawRisk"
          title={said.withdrawTitle(asking.check.name)}
          body={{ version: release.version, risk: asking.check.name }}
          onClose={() => setAsking(undefined)}
        >
          <p>{said.withdrawWhat}</p>
        </ActDialog>
      ) : (
        <AcceptDialog check={asking.check} release={release} onClose={() => setAsking(undefined)} />
      )}
    </>
  );
}

/** What a check found, what to do, since when, and why it was let through. */
function Found({
  check: { name, message, next, since, accepted },
  release,
}: {
  readonly check: UpdatePreflightStatusCheck;
  readonly release: CheckedRelease;
}) {
  return (
    <div>
      <span className="sluice-said">{message}</span>
      {next === undefined ? null : (
        <p className="sluice-next">
          <strong>{said.next}</strong> <span className="sluice-said">{next}</span>
        </p>
      )}
      {accepted === true ? (
        <p className="sluice-next">
          {said.acceptedBecause(
            release.accepted.find((each) => each.name === name)?.reason ?? said.reasonUnknown,
          )}
        </p>
      ) : null}
      {since === undefined ? null : (
        <div className="sluice-small">
          {words.overview.since} <Ago at={since} />
        </div>
      )}
    </div>
  );
}

/** Lets one risk through by its name, with the reason that those read who come after. */
function AcceptDialog({
  check: { name, message },
  release: { version },
  onClose,
}: {
  readonly check: UpdatePreflightStatusCheck;
  readonly release: CheckedRelease;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <ActDialog
      action="acceptRisk"
      title={said.acceptTitle(name)}
      body={{ version, risk: name, reason: reason.trim() }}
      onClose={onClose}
      danger
      unless={reason.trim() === '' ? said.reasonMissing : undefined}
    >
      <p className="sluice-said">{message}</p>
      <p>{said.acceptWhat}</p>
      <FormGroup label={said.reason} fieldId="accept-reason" isRequired>
        <TextArea
          id="accept-reason"
          value={reason}
          onChange={(_, value) => setReason(value)}
          placeholder={said.reasonExample}
          resizeOrientation="vertical"
          isRequired
        />
      </FormGroup>
    </ActDialog>
  );
}
