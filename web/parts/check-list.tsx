import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { TextArea } from '@patternfly/react-core/dist/dynamic/components/TextArea';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { type ReactNode, useState } from 'react';
import type { UpdatePreflightStatusCheck } from '../../src/api/resources.ts';
import { type CheckState, checkStateOf, isAcceptable, sortChecks } from '../data/checks.ts';
import { words } from '../words/english.ts';
import { ActDialog } from './act-dialog.tsx';
import { ActionButton } from './action-button.tsx';
import { Ago } from './ago.tsx';
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

export function CheckLabel({ check }: { readonly check: UpdatePreflightStatusCheck }) {
  const state = checkStateOf(check);
  return <StatusLabel tone={tones[state]}>{said.states[state]}</StatusLabel>;
}

/** The release whose risks may be accepted, as actions name it. */
export interface CheckedRelease {
  readonly version?: string | undefined;
  readonly image?: string | undefined;
}

/**
 * Gates and checks with their results, worst first, each with what to do.
 *
 * @param release absent: nothing can be accepted here, in an old run for instance.
 * @param more what a page shows beside a check: its log, for instance.
 */
export function CheckList({
  checks,
  release,
  label,
  more,
}: {
  readonly checks: readonly UpdatePreflightStatusCheck[];
  readonly release?: CheckedRelease;
  readonly label: string;
  readonly more?: (check: UpdatePreflightStatusCheck) => ReactNode;
}) {
  const [asking, setAsking] = useState<{ risk: string; taken: boolean }>();
  return (
    <>
      <Table aria-label={label} variant="compact">
        <Thead>
          <Tr>
            <Th width={15}>{said.columns.result}</Th>
            <Th width={25}>{said.columns.check}</Th>
            <Th>{said.columns.message}</Th>
            <Th screenReaderText={said.columns.actions} />
          </Tr>
        </Thead>
        <Tbody>
          {sortChecks(checks).map((check) => (
            <Tr key={`${check.component ?? ''} ${check.name}`} data-check={check.name}>
              <Td dataLabel={said.columns.result}>
                <CheckLabel check={check} />
              </Td>
              <Td dataLabel={said.columns.check} modifier="breakWord">
                {check.name}
                <div className="sluice-small">
                  {check.component === undefined ? said.builtIn : said.from(check.component)}
                </div>
              </Td>
              <Td dataLabel={said.columns.message} modifier="breakWord">
                <span className="sluice-said">{check.message}</span>
                {check.next === undefined ? null : (
                  <p className="sluice-next">
                    <strong>{said.next}</strong> <span className="sluice-said">{check.next}</span>
                  </p>
                )}
                {check.since === undefined ? null : (
                  <div className="sluice-small">
                    {words.overview.since} <Ago at={check.since} />
                  </div>
                )}
                {more?.(check)}
              </Td>
              <Td dataLabel={said.columns.actions} isActionCell>
                {release === undefined ? null : check.accepted === true ? (
                  <ActionButton
                    action="withdrawRisk"
                    variant="secondary"
                    size="sm"
                    onClick={() => setAsking({ risk: check.name, taken: true })}
                  />
                ) : isAcceptable(check) ? (
                  <ActionButton
                    action="acceptRisk"
                    variant="secondary"
                    size="sm"
                    onClick={() => setAsking({ risk: check.name, taken: false })}
                  />
                ) : null}
              </Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      {asking === undefined || release === undefined ? null : asking.taken ? (
        <ActDialog
          action="withdrawRisk"
          title={said.withdrawTitle(asking.risk)}
          body={{ ...release, risk: asking.risk }}
          onClose={() => setAsking(undefined)}
        >
          <p>{said.withdrawWhat}</p>
        </ActDialog>
      ) : (
        <AcceptDialog risk={asking.risk} release={release} onClose={() => setAsking(undefined)} />
      )}
    </>
  );
}

function AcceptDialog({
  risk,
  release,
  onClose,
}: {
  readonly risk: string;
  readonly release: CheckedRelease;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <ActDialog
      action="acceptRisk"
      title={said.acceptTitle(risk)}
      body={{ ...release, risk, reason }}
      onClose={onClose}
      unless={reason.trim() === '' ? said.reasonMissing : undefined}
    >
      <p>{said.acceptWhat}</p>
      <FormGroup label={said.reason} fieldId="accept-reason" isRequired>
        <TextArea
          id="accept-reason"
          value={reason}
          onChange={(_, value) => setReason(value)}
          resizeOrientation="vertical"
          isRequired
        />
      </FormGroup>
    </ActDialog>
  );
}
