/**
 * The path of the next page that a Link header names (RFC 8288, `rel="next"`), relative or absolute, within the
 * same origin; undefined where there is none.
 */
export function nextPage(header: string | string[] | undefined, current: URL): string | undefined {
  for (const value of header === undefined ? [] : [header].flat()) {
    for (const [, target, parameters] of value.matchAll(/<([^>]*)>([^<]*)/g)) {
      if (!/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)/i.test(parameters ?? '')) continue;
      const url = URL.parse(target ?? '', current.href);
      if (url === null || url.origin !== current.origin) return undefined;
      return `${url.pathname}${url.search}`;
    }
  }
  return undefined;
}
