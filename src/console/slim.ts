/**
 * What no page shows, and what makes up most of the bytes of a real cluster's objects: who wrote which field, the last
 * manifest that kubectl applied, and the images that lie on a node.
 */
const bulk = [
  '"managedFields":',
  '"kubectl.kubernetes.io/last-applied-configuration":',
  '"images":',
] as const;

/** JSON of the cluster API (an object, a list, an event of a watch) without it; the same text where none is in it. */
export function slimJson(text: string): string {
  if (!bulk.some((each) => text.includes(each))) return text;
  return JSON.stringify(slim(JSON.parse(text)));
}

interface Slimmed {
  kind?: string;
  items?: unknown[];
  /** Of an event. */
  object?: unknown;
  metadata?: { managedFields?: unknown; annotations?: Record<string, string> };
  status?: { images?: unknown };
}

function slim(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const object = value as Slimmed;
  const { metadata } = object;
  if (Array.isArray(object.items)) {
    // Objects of a list do not tell their kind; that of the list does.
    const isNodes = object.kind === 'NodeList';
    for (const item of object.items) slimObject(item as Slimmed, isNodes);
  } else if (object.object !== undefined) {
    slim(object.object);
  } else if (metadata !== undefined) {
    slimObject(object, object.kind === 'Node');
  }
  return value;
}

function slimObject({ metadata, status }: Slimmed, isNode: boolean): void {
  delete metadata?.managedFields;
  delete metadata?.annotations?.['kubectl.kubernetes.io/last-applied-configuration'];
  if (isNode) delete status?.images;
}
