/** Every address of the console. */
export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'releases'; readonly name?: string }
  | { readonly page: 'update'; readonly target?: string; readonly operator?: string }
  | { readonly page: 'preflight'; readonly name?: string; readonly with?: string }
  | { readonly page: 'nodes'; readonly name?: string; readonly view?: 'calendar'; readonly filter?: string }
  | { readonly page: 'nowhere'; readonly path: string };

export type PageName = Exclude<Route['page'], 'nowhere'>;

export const pageNames: readonly PageName[] = ['overview', 'releases', 'update', 'preflight', 'nodes'];

/**
 * The route of an address.
 *
 * @param path below the base of the page, without a slash in front; `search` with its question mark, or empty.
 */
export function parseRoute(path: string, search: string): Route {
  const [page = '', ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
  const words = new URLSearchParams(search);
  const optional = <K extends string>(key: K, value: string | null | undefined) =>
    value === null || value === undefined || value === '' ? {} : ({ [key]: value } as Record<K, string>);
  const nowhere: Route = { page: 'nowhere', path };
  if (rest.length > 1) return nowhere;
  const [name] = rest;
  switch (page) {
    case '':
      return { page: 'overview' };
    case 'releases':
      return { page, ...optional('name', name) };
    case 'update':
      return { page, ...optional('target', name), ...optional('operator', words.get('operator')) };
    case 'preflight':
      return { page, ...optional('name', name), ...optional('with', words.get('with')) };
    case 'nodes':
      return {
        page,
        ...optional('name', name),
        ...(words.get('view') === 'calendar' ? { view: 'calendar' as const } : {}),
        ...optional('filter', words.get('filter')),
      };
    default:
      return nowhere;
  }
}

/** The address of a route, below the base of the page, without a slash in front. */
export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'overview':
      return '';
    case 'releases':
      return pathOf(route.page, route.name);
    case 'update':
      return `${pathOf(route.page, route.target)}${queryOf({ operator: route.operator })}`;
    case 'preflight':
      return `${pathOf(route.page, route.name)}${queryOf({ with: route.with })}`;
    case 'nodes':
      return `${pathOf(route.page, route.name)}${queryOf({ view: route.view, filter: route.filter })}`;
    case 'nowhere':
      return route.path;
  }
}

function pathOf(page: PageName, name: string | undefined): string {
  return name === undefined ? page : `${page}/${encodeURIComponent(name)}`;
}

function queryOf(words: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(words)) if (value !== undefined) query.set(key, value);
  return query.size === 0 ? '' : `?${query}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
