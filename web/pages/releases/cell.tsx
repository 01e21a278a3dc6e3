import { Progress } from '@patternfly/react-core/dist/dynamic/components/Progress';
import { Ago } from '../../parts/ago.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { formatBytes, formatSpan } from '../../words/format.ts';
import { type Cell, percentOf } from './cells.ts';

const said = words.releases.cell;

/** How a release stands on a node. */
export function CellView({ cell, label }: { readonly cell: Cell; readonly label: string }) {
  switch (cell.kind) {
    case 'held':
      return (
        <div>
          <StatusLabel tone="good">{said.held}</StatusLabel>
          <div className="sluice-small">
            {formatBytes(cell.bytes)}
            {cell.verifiedAt === undefined ? null : (
              <>
                , {said.verified} <Ago at={cell.verifiedAt} />
              </>
            )}
          </div>
        </div>
      );
    case 'copying':
      return (
        <Bar done={cell.done} total={cell.total} label={label}>
          {cell.rate === undefined ? said.copying : said.rate(formatBytes(cell.rate))}
          {cell.secondsLeft === undefined ? null : `, ${said.left(formatSpan(cell.secondsLeft * 1000))}`}
        </Bar>
      );
    case 'verifying':
      return <StatusLabel tone="working">{said.verifying}</StatusLabel>;
    case 'stopped':
      return (
        <Bar done={cell.done} total={cell.total} label={label}>
          <StatusLabel tone={cell.paused ? 'paused' : 'danger'}>
            {cell.paused ? said.paused : said.failed}
          </StatusLabel>{' '}
          <span className="sluice-said">{cell.message}</span>
        </Bar>
      );
    case 'asked':
      return <StatusLabel tone="working">{said.asked}</StatusLabel>;
    case 'mounted':
      return <StatusLabel tone="info">{said.mounted}</StatusLabel>;
    case 'absent':
      return <span className="sluice-small">{said.absent}</span>;
  }
}

function Bar({
  done,
  total,
  label,
  children,
}: {
  readonly done: number;
  readonly total: number;
  readonly label: string;
  readonly children: React.ReactNode;
}) {
  return (
    <div className="sluice-bar">
      {total === 0 ? null : ( // What there is to copy is not known yet.
        <>
          <Progress value={percentOf(done, total)} size="sm" measureLocation="outside" aria-label={label} />
          <div className="sluice-small">{said.amount(formatBytes(done), formatBytes(total))}</div>
        </>
      )}
      <div className="sluice-small">{children}</div>
    </div>
  );
}
