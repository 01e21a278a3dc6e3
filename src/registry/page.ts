/** A page of a list: `n` entries behind `last` (distribution-spec, "Listing Tags"). */
export interface Page {
  /** Undefined asks for all. */
  readonly n: number | undefined;
  readonly last: string | undefined;
}

/** Undefined where `n` is no whole number. */
export function pageOf(query: URLSearchParams): Page | undefined {
  const n = query.get('n');
  if (n !== null && !/^\d{1,9}$/.test(n)) return undefined;
  return { n: n === null ? undefined : Number(n), last: query.get('last') ?? undefined };
}

/** The entries of a page out of a sorted list, and the query of the next one where there is more. */
export function listPage(sorted: readonly string[], page: Page): { items: readonly string[]; next?: string } {
  const { n, last } = page;
  const rest = last === undefined ? sorted : sorted.filter((item) => item > last);
  if (n === undefined) return { items: rest };
  const items = rest.slice(0, n);
  const end = items.at(-1);
  if (end === undefined || items.length === rest.length) return { items };
  return { items, next: new URLSearchParams({ n: String(n), last: end }).toString() };
}
