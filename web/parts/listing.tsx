import {
  Table,
  Tbody,
  Td,
  type TdProps,
  Th,
  Thead,
  Tr,
} from '@patternfly/react-table/dist/dynamic/components/Table';
import type { ReactNode } from 'react';

/** A column: its heading, or what it holds that is not just a few words. */
export type Column =
  | string
  | {
      readonly text: string;
      /** `words`: long texts and names that may break anywhere. `actions`: buttons; the heading is only read out. */
      readonly holds: 'words' | 'actions';
    };

export interface ListingRow {
  readonly key: string;
  /** In the order of the columns. */
  readonly cells: readonly ReactNode[];
  /** Attributes by which tests and other pages find the row. */
  readonly data?: Readonly<Record<`data-${string}`, string | boolean>>;
  readonly isMarked?: boolean;
}

/**
 * A table of a few rows; on a narrow screen each row stands as a list of its cells.
 *
 * @param name id of the heading that names it, or the name itself.
 */
export function Listing({
  name,
  columns,
  rows,
}: {
  readonly name: { readonly id: string } | string;
  readonly columns: readonly Column[];
  readonly rows: readonly ListingRow[];
}) {
  return (
    <Table
      variant="compact"
      {...(typeof name === 'string' ? { 'aria-label': name } : { 'aria-labelledby': name.id })}
    >
      <Thead>
        <Tr>
          {columns.map((column) =>
            holds(column) === 'actions' ? (
              <Th key={textOf(column)} screenReaderText={textOf(column)} />
            ) : (
              <Th key={textOf(column)}>{textOf(column)}</Th>
            ),
          )}
        </Tr>
      </Thead>
      <Tbody>
        {rows.map(({ key, cells, data = {}, isMarked = false }) => (
          <Tr key={key} className={isMarked ? 'sluice-differs' : ''} {...data}>
            {columns.map((column, index) => (
              <Td key={textOf(column)} {...looks(column)}>
                <div>{cells[index]}</div>
              </Td>
            ))}
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

/** Buttons tell by themselves what they are, also where the cells of a row stand one under the other. */
function looks(column: Column): Partial<TdProps> {
  switch (holds(column)) {
    case 'actions':
      return { className: 'sluice-actions' };
    case 'words':
      return { dataLabel: textOf(column), modifier: 'breakWord' };
    default:
      return { dataLabel: textOf(column) };
  }
}

function textOf(column: Column): string {
  return typeof column === 'string' ? column : column.text;
}

function holds(column: Column): 'words' | 'actions' | undefined {
  return typeof column === 'string' ? undefined : column.holds;
}
