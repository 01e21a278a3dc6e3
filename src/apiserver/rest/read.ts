import { type KubeObject, record } from '../object.ts';
import { everything, nameOfFieldSelector, parseSelector, type Selector } from '../selector.ts';
import { keyOf, prefixOf, type Served } from '../served.ts';
import { badRequest, expired, notFound, StatusError } from '../status.ts';
import { type KeyRange, type ListedRow, prefixRange } from '../store/revisions.ts';
import { type Engine, parseStored, servedJson } from './engine.ts';
import { checkListOptions, type ListQuery } from './list-options.ts';

/** Rows that are read at once where a selector decides which of them count. */
const scanRows = 1_000;

export interface ListPage {
  /** JSON texts of the objects. */
  readonly items: string[];
  readonly revision: number;
  readonly continue?: string;
  readonly remaining?: number;
}

/** The text of one object. @throws 404 */
export function getObject(engine: Engine, served: Served, namespace: string, name: string): string {
  const revision = engine.store.get(keyOf(served, namespace, name));
  if (revision === undefined) throw notFound(served, name);
  return servedJson(served, revision.value);
}

/** One object, parsed; undefined where there is none. */
export function readObject(
  engine: Engine,
  served: Served,
  namespace: string,
  name: string,
): KubeObject | undefined {
  const revision = engine.store.get(keyOf(served, namespace, name));
  return revision && parseStored(served, revision.value);
}

/** All objects of a resource, parsed; '' for all namespaces. */
export function readObjects(engine: Engine, served: Served, namespace: string): KubeObject[] {
  return engine.store
    .list(prefixRange(prefixOf(served, namespace)), engine.store.revision, -1)
    .map(([, json]) => parseStored(served, json));
}

/**
 * A page of objects, all as they stood at one revision; what continues a list stays at its revision.
 * @throws 400 (selector, limit), 410 (that revision is compacted), 504 (it lies in the future)
 */
export function listObjects(engine: Engine, served: Served, namespace: string, query: ListQuery): ListPage {
  checkListOptions(query);
  const selector = parseSelector(query.labelSelector, query.fieldSelector, served.selectableFields);
  const prefix = prefixOf(served, namespace);
  const { revision, after, remaining } = startOf(engine, prefix, query);
  const base = rangeOf(served, namespace, query.fieldSelector);
  const range = after === undefined ? base : { ...base, after };
  const limit = query.limit ?? 0;
  if (selector === everything) return pageOfAll(engine, served, range, revision, limit, prefix, remaining);
  return pageOfSome(engine, served, range, revision, limit, prefix, selector);
}

function pageOfAll(
  engine: Engine,
  served: Served,
  range: KeyRange,
  revision: number,
  limit: number,
  prefix: string,
  known: number | undefined,
): ListPage {
  const rows = engine.store.list(range, revision, limit > 0 ? limit + 1 : -1);
  const more = limit > 0 && rows.length > limit;
  if (more) rows.pop();
  const items = rows.map(([, json]) => servedJson(served, json));
  if (!more) return { items, revision };
  // The number is of the first page's moment: what continues the list counts down from it.
  const total = known ?? (revision === engine.store.revision ? engine.store.count(prefix) : undefined);
  const remaining = total === undefined ? undefined : Math.max(0, total - rows.length);
  return {
    items,
    revision,
    continue: encodeContinue(revision, lastKey(rows), prefix, remaining),
    ...(remaining === undefined ? {} : { remaining }),
  };
}

function pageOfSome(
  engine: Engine,
  served: Served,
  range: KeyRange,
  revision: number,
  limit: number,
  prefix: string,
  selector: Selector,
): ListPage {
  const items: string[] = [];
  let from = range;
  for (;;) {
    const rows = engine.store.list(from, revision, scanRows);
    for (const [key, json] of rows) {
      if (!selector.mayMatch(json) || !selector.matches(parseStored(served, json))) continue;
      if (limit > 0 && items.length === limit) {
        // The page is full and there is more: go on after the last one that was taken.
        return { items, revision, continue: encodeContinue(revision, from.after ?? key, prefix) };
      }
      items.push(servedJson(served, json));
      from = { ...from, after: key };
    }
    if (rows.length < scanRows) return { items, revision };
    from = { ...from, after: lastKey(rows) };
  }
}

function lastKey(rows: readonly ListedRow[]): string {
  return rows.at(-1)?.[0] ?? '';
}

/** The keys that a list or watch looks at: a namespace, all of the resource, or the one that is named. */
export function rangeOf(served: Served, namespace: string, fieldSelector: string | undefined): KeyRange {
  const only = nameOfFieldSelector(fieldSelector);
  if (only === undefined || (served.namespaced && namespace === '')) {
    return prefixRange(prefixOf(served, namespace));
  }
  const key = keyOf(served, namespace, only);
  return { from: key, to: `${key}\u0000` };
}

interface Start {
  readonly revision: number;
  readonly after?: string;
  /** How many were still to come, where the first page counted them. */
  readonly remaining?: number | undefined;
}

/** At which revision a list is read, and after which key it goes on (apimachinery, resource versions). */
function startOf(engine: Engine, prefix: string, query: ListQuery): Start {
  if (query.continue !== undefined && query.continue !== '') {
    if (query.resourceVersion !== undefined && !['', '0'].includes(query.resourceVersion)) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    return decodeContinue(engine, query.continue, prefix);
  }
  const asked = parseResourceVersion(query.resourceVersion, 'invalid resource version: ');
  const match = query.resourceVersionMatch;
  if (asked > engine.store.revision) throw tooLargeVersion(asked, engine.store.revision);
  const exact = match === 'Exact' || (asked > 0 && match === undefined && (query.limit ?? 0) > 0);
  if (!exact) return { revision: engine.store.revision };
  if (asked < engine.store.compacted) {
    throw expired('The provided resource version is too old: the history up to it has been compacted.');
  }
  return { revision: asked };
}

/** A resource version as a number; 0 where none is given. @throws 400 */
export function parseResourceVersion(text: string | undefined, what = ''): number {
  if (text === undefined || text === '') return 0;
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || !Number.isSafeInteger(value)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw badRequest(`${what}resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`);
  }
  return value;
}

export function tooLargeVersion(asked: number, current: number): StatusError {
  const message = `Too large resource version: ${asked}, current: ${current}`;
  return new StatusError(504, 'Timeout', `Timeout: ${message}`, {
    retryAfterSeconds: 1,
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  });
}

function encodeContinue(revision: number, lastKey: string, prefix: string, remaining?: number): string {
  const start = lastKey.slice(prefix.length);
  const token = JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start, n: remaining });
  return Buffer.from(token).toString('base64url');
}

function decodeContinue(engine: Engine, token: string, prefix: string): Start {
  let parsed: Record<string, unknown>;
  try {
    parsed = record(JSON.parse(Buffer.from(token, 'base64url').toString('utf8')));
  } catch {
    throw badRequest('invalid continue token: continue key is not valid: it is no JSON in base64');
  }
  const { v, rv, start, n } = parsed;
  if (v !== 'meta.k8s.io/v1' || !Number.isSafeInteger(rv) || typeof start !== 'string' || start === '') {
    throw badRequest(
      'invalid continue token: continue key is not valid: incorrect encoded version or start key',
    );
  }
  const revision = rv as number;
  if (revision > engine.store.revision)
    throw badRequest('invalid continue token: continue key is not valid: it lies in the future');
  if (revision < engine.store.compacted) {
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. ' +
        'You can start a new list without the continue parameter.',
    );
  }
  return {
    revision,
    after: `${prefix}${start}`,
    remaining: Number.isSafeInteger(n) ? (n as number) : undefined,
  };
}
