import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { useMemo, useState } from 'react';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { Link } from '../../app/navigation.tsx';
import { useNow } from '../../data/hooks.ts';
import { Ago } from '../../parts/ago.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { formatDay, formatMoment } from '../../words/format.ts';
import { dayStarts, type Span, type WeekRow, weekRows } from './week.ts';

const said = words.nodes.week;
const dayMs = 24 * 3600_000;
const minuteMs = 60_000;

/** The week ahead: when which nodes may reboot, by the viewer's clock or by theirs. */
export function Calendar({ updates }: { readonly updates: readonly NodeUpdate[] }) {
  const now = useNow(minuteMs);
  const mine = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = [
    ...new Set([mine, ...updates.flatMap(({ status }) => status?.calendar?.timeZone ?? []), 'UTC']),
  ];
  const [zone, setZone] = useState(mine);
  const minute = Math.floor(now / minuteMs) * minuteMs;
  const { days, end, rows } = useMemo(() => {
    const from = dayStarts(zone, minute, minute + 1)[0] ?? minute;
    const to = from + 7 * dayMs;
    return { days: dayStarts(zone, from, to), end: to, rows: weekRows(updates, from, to, minute) };
  }, [updates, zone, minute]);
  const [start = minute] = days;
  return (
    <Section id="node-week" title={said.title}>
      <FormSelect
        id="week-zone"
        aria-label={said.zone}
        value={zone}
        onChange={(_, value) => setZone(value)}
        className="sluice-narrow"
      >
        {zones.map((each) => (
          <FormSelectOption key={each} value={each} label={each === mine ? said.mine(each) : each} />
        ))}
      </FormSelect>
      {rows.length === 0 ? (
        <p>{said.none}</p>
      ) : (
        <div className="sluice-week-frame">
          <table className="sluice-week" aria-labelledby="node-week">
            <thead>
              <tr>
                <th scope="col">{said.nodes}</th>
                <th scope="col" className="sluice-week-days">
                  {days.map((day) => (
                    <span key={day} style={{ insetInlineStart: `${percent(day, start, end)}%` }}>
                      <Day at={day} zone={zone} />
                    </span>
                  ))}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.kind} ${row.nodes[0]}`} data-week={row.kind}>
                  <th scope="row">
                    <Names nodes={row.nodes} />
                    <div className="sluice-small">{ruleOf(row)}</div>
                    <Next row={row} now={now} zone={zone} />
                  </th>
                  <td className="sluice-week-line">
                    {days.map((day) => (
                      <i
                        key={day}
                        className="sluice-week-day"
                        style={{ insetInlineStart: `${percent(day, start, end)}%` }}
                      />
                    ))}
                    {row.spans.map((span) => (
                      <Bar key={span.from} span={span} start={start} end={end} zone={zone} kind={row.kind} />
                    ))}
                    <i
                      className="sluice-week-now"
                      style={{ insetInlineStart: `${percent(now, start, end)}%` }}
                      title={said.now}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}

/** One under the other, so that seven fit a narrow screen. */
function Day({ at, zone }: { readonly at: number; readonly zone: string }) {
  const { weekday, date } = formatDay(at, zone);
  return (
    <>
      <b>{weekday}</b>
      <small>{date}</small>
    </>
  );
}

function percent(at: number, start: number, end: number): number {
  return Math.round(((at - start) / (end - start)) * 10_000) / 100;
}

function Bar({
  span,
  start,
  end,
  zone,
  kind,
}: {
  readonly span: Span;
  readonly start: number;
  readonly end: number;
  readonly zone: string;
  readonly kind: WeekRow['kind'];
}) {
  const title = said.open(formatMoment(span.from, zone), formatMoment(span.to, zone));
  const left = percent(span.from, start, end);
  const width = Math.max(0.3, percent(span.to, start, end) - left);
  return (
    <span
      className={`sluice-week-bar sluice-week-${kind}`}
      style={{ insetInlineStart: `${left}%`, inlineSize: `${width}%` }}
      title={title}
      role="img"
      aria-label={title}
    />
  );
}

/** Nodes whose names are written out. */
const namesMax = 4;

function Names({ nodes }: { readonly nodes: readonly string[] }) {
  return (
    <span>
      {nodes.slice(0, namesMax).map((name, index) => (
        <span key={name}>
          {index === 0 ? '' : ', '}
          <Link to={{ page: 'nodes', name }}>{name}</Link>
        </span>
      ))}
      {nodes.length > namesMax ? ` ${words.count.more(nodes.length - namesMax)}` : ''}
    </span>
  );
}

function ruleOf({ kind, timeZone = '' }: WeekRow): string {
  switch (kind) {
    case 'weekly':
      return said.weekly(timeZone);
    case 'opened':
      return said.opened;
    case 'asked':
      return said.asked;
    case 'anytime':
      return said.anytime;
  }
}

function Next({ row, now, zone }: { readonly row: WeekRow; readonly now: number; readonly zone: string }) {
  const next = row.spans.find(({ to }) => to > now);
  // What is open at any time neither opens nor closes.
  if (next === undefined || row.kind === 'anytime') return null;
  return (
    <div className="sluice-small">
      {next.from <= now ? (
        <>
          {said.closes} <Ago at={next.to} />
        </>
      ) : (
        <>
          {said.opens(formatMoment(next.from, zone))} (<Ago at={next.from} />)
        </>
      )}
    </div>
  );
}
