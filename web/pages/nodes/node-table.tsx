import { Checkbox } from '@patternfly/react-core/dist/dynamic/components/Checkbox';
import { Link } from '../../app/navigation.tsx';
import { Ago } from '../../parts/ago.tsx';
import { useMedia } from '../../parts/use-media.ts';
import { useVirtualRows } from '../../parts/virtual-rows.tsx';
import { words } from '../../words/english.ts';
import { NodeStateLabel } from './labels.tsx';
import type { NodeRow } from './rows.ts';

const said = words.nodes;
/** Pixels; `.sluice-node-row` has the same heights. */
const rowHeights = { wide: 76, narrow: 152 } as const;
/** Where a row stands as a block of lines; the style sheet has the same limit. */
const narrow = '(max-width: 768px)';

/** Any number of nodes: only those that can be seen are drawn. */
export function NodeTable({
  rows,
  chosen,
  onChoose,
}: {
  readonly rows: readonly NodeRow[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}) {
  const { frame, first, end, before, after } = useVirtualRows(
    rows.length,
    useMedia(narrow) ? rowHeights.narrow : rowHeights.wide,
  );
  const all = rows.length > 0 && rows.every(({ name }) => chosen.has(name));
  const some = rows.some(({ name }) => chosen.has(name));
  const chooseAll = () => {
    const next = new Set(chosen);
    for (const { name } of rows) all ? next.delete(name) : next.add(name);
    onChoose(next);
  };
  const choose = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    onChoose(next);
  };
  const { node, state, system, holds, next } = said.columns;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section className="sluice-node-frame" ref={frame} tabIndex={0} aria-label={said.tableName}>
      <table className="sluice-node-table" aria-rowcount={rows.length + 1} aria-label={said.tableName}>
        <thead>
          <tr className="sluice-node-row" aria-rowindex={1}>
            <th scope="col" className="sluice-node-check">
              <Checkbox
                id="choose-all"
                aria-label={said.chooseAll}
                isChecked={all ? true : some ? null : false}
                onChange={chooseAll}
              />
            </th>
            <th scope="col">{node}</th>
            <th scope="col">{state}</th>
            <th scope="col">{system}</th>
            <th scope="col">{holds}</th>
            <th scope="col">{next}</th>
          </tr>
        </thead>
        <tbody>
          <Space height={before} />
          {rows.slice(first, end).map((row, index) => (
            <Row
              key={row.name}
              row={row}
              index={first + index + 2}
              isChosen={chosen.has(row.name)}
              onChoose={() => choose(row.name)}
            />
          ))}
          <Space height={after} />
        </tbody>
      </table>
      {rows.length === 0 ? <p className="sluice-node-none">{said.noMatch}</p> : null}
    </section>
  );
}

/** Stands for the rows that are not drawn. */
function Space({ height }: { readonly height: number }) {
  if (height === 0) return null;
  return (
    <tr>
      <td aria-hidden="true" colSpan={6} style={{ blockSize: height, padding: 0 }} />
    </tr>
  );
}

function Row({
  row,
  index,
  isChosen,
  onChoose,
}: {
  readonly row: NodeRow;
  readonly index: number;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  const { name, controlPlane, booted, staged, holds, nextPossible, window, slot, message, notReady } = row;
  const [hold, ...more] = holds;
  return (
    <tr className="sluice-node-row" aria-rowindex={index} data-node={name}>
      <td className="sluice-node-check">
        <Checkbox
          id={`choose-${name}`}
          aria-label={said.choose(name)}
          isChecked={isChosen}
          onChange={onChoose}
        />
      </td>
      <th scope="row" className="sluice-node-name">
        <Link to={{ page: 'nodes', name }} className="sluice-cut">
          {name}
        </Link>
        <div className="sluice-small">{controlPlane ? said.controlPlane : said.worker}</div>
      </th>
      <td className="sluice-node-state">
        <NodeStateLabel state={row.state} />
        {notReady === undefined ? null : <div className="sluice-small">{said.notReady}</div>}
      </td>
      <td className="sluice-node-system">
        <div className="sluice-cut">{booted || said.unknown}</div>
        {staged === '' ? null : <div className="sluice-small sluice-cut">{said.stagedIs(staged)}</div>}
      </td>
      <td className="sluice-node-holds">
        {hold === undefined ? (
          <span className="sluice-small sluice-cut-two">
            {row.state === 'trouble' ? message : said.nothingHolds}
          </span>
        ) : (
          <>
            <span className="sluice-cut-two" title={hold.message}>
              {hold.message}
            </span>
            <div className="sluice-small">
              {said.gates[hold.gate] ?? hold.gate}, {said.since} <Ago at={hold.since} />
              {more.length === 0 ? null : `, ${words.count.more(more.length)}`}
            </div>
          </>
        )}
      </td>
      <td className="sluice-node-next">
        {hold === undefined ? null : (
          <div className={nextPossible === undefined ? 'sluice-small' : ''}>
            <span className="sluice-narrow-only">{said.columns.next}: </span>
            {nextPossible === undefined ? said.nobodyKnows : <Ago at={nextPossible} />}
          </div>
        )}
        {window === undefined ? null : (
          <div className="sluice-small">
            {said.windowEnds} <Ago at={window.notAfter} />
          </div>
        )}
        {slot === undefined ? null : <div className="sluice-small">{said.hasSlot(slot.group)}</div>}
      </td>
    </tr>
  );
}
