import type { KubeObject } from '../object.ts';
import { ageOf } from './duration.ts';

/** meta/v1 TableColumnDefinition. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** A kind's table: its columns and how an object fills them. */
export interface TableLayout {
  readonly definitions: readonly ColumnDefinition[];
  cells(object: KubeObject, now: number): unknown[];
}

export interface Column {
  readonly definition: ColumnDefinition;
  readonly cell: (row: { readonly object: KubeObject; readonly now: number }) => unknown;
}

export function column(
  name: string,
  cell: Column['cell'],
  options: { type?: string; format?: string; description?: string; priority?: number } = {},
): Column {
  const { type = 'string', format = '', description = '', priority = 0 } = options;
  return { definition: { name, type, format, description, priority }, cell };
}

export const name: Column = column('Name', ({ object }) => object.metadata.name, {
  format: 'name',
  description: 'Name must be unique within a namespace.',
});

/** A column that shows how long ago a time was. */
export function translated(title: string, time: (object: KubeObject) => unknown): Column {
  return column(title, ({ object, now }) => ageOf(time(object), now), {
    description:
      'CreationTimestamp is a timestamp representing the server time when this object was created.',
  });
}

export const age: Column = translated('Age', (object) => object.metadata.creationTimestamp);
