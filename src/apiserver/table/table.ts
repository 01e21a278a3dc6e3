import { isRecord, type KubeObject } from '../object.ts';
import type { PrinterColumn, Served } from '../served.ts';
import type { ColumnDefinition, TableLayout } from './column.ts';
import { columnsOf } from './columns.ts';
import { ageOf } from './duration.ts';
import { compileJsonPath } from './jsonpath.ts';

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: Record<string, unknown>;
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object?: unknown }[];
}

/**
 * Objects as rows (meta/v1 Table), as kubectl prints them.
 * @param includeObject what comes along with each row: None, Metadata or Object
 */
export function tableOf(
  served: Served,
  objects: readonly KubeObject[],
  includeObject: string,
  now: number,
): Table {
  const layout = layoutOf(served);
  const one = objects.length === 1 ? objects[0]?.metadata.resourceVersion : undefined;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: one === undefined ? {} : { resourceVersion: one },
    columnDefinitions: layout.definitions,
    rows: objects.map((object) => ({
      cells: layout.cells(object, now),
      ...(includeObject === 'None'
        ? {}
        : { object: includeObject === 'Object' ? object : metadataOf(object) }),
    })),
  };
}

/** The metadata alone (meta/v1 PartialObjectMetadata). */
export function metadataOf(object: KubeObject): unknown {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

function layoutOf(served: Served): TableLayout {
  return served.custom === undefined ? columnsOf(served) : customLayout(served);
}

const customLayouts = new WeakMap<Served, TableLayout>();

export const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may ' +
    'allow a client to request the generation of an appropriate name automatically.',
  priority: 0,
};

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
};

/** The name, then the columns of the definition; a definition without any shows the age. */
function customLayout(served: Served): TableLayout {
  const known = customLayouts.get(served);
  if (known !== undefined) return known;
  const wanted = served.custom?.columns ?? [ageColumn];
  const columns = wanted.length === 0 ? [ageColumn] : wanted;
  const paths = columns.map((column) => compileColumn(column));
  const layout: TableLayout = {
    definitions: [
      nameColumn,
      ...columns.map(({ name, type, format, description, priority }) => ({
        name,
        type,
        format: format ?? '',
        description: description ?? '',
        priority: priority ?? 0,
      })),
    ],
    cells: (object, now) => [object.metadata.name, ...paths.map((cell) => cell(object, now))],
  };
  customLayouts.set(served, layout);
  return layout;
}

function compileColumn(column: PrinterColumn): (object: KubeObject, now: number) => unknown {
  let path: (root: unknown) => unknown[];
  try {
    path = compileJsonPath(column.jsonPath);
  } catch {
    return () => null; // A path that cannot be read shows nothing, as with the real server.
  }
  return (object, now) => {
    const [value] = path(object);
    return value === undefined || value === null ? null : cell(column.type, value, now);
  };
}

function cell(type: string, value: unknown, now: number): unknown {
  switch (type) {
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      return typeof value === 'string'
        ? value
        : isRecord(value) || Array.isArray(value)
          ? JSON.stringify(value)
          : String(value);
  }
}
