/** One declaration of a custom property: name, value. Strings may hold what ends a declaration elsewhere. */
const declaration = /(--pf-[\w-]+):((?:[^;{}"']|"[^"]*"|'[^']*')*)(?:;|(?=\}))/g;
const reference = /--pf-[\w-]+/g;
const emptyRule = /[^{};]+\{\s*\}/g;

/**
 * Takes custom properties of PatternFly out that nothing uses: its style sheet declares every token of the whole design
 * system, some thousands, of which a page uses a few hundred.
 *
 * @param scripts texts in which properties may be named too.
 */
export function trimCss(css: string, scripts: readonly string[]): string {
  const named = new Set(scripts.flatMap((script) => script.match(reference) ?? []));
  let trimmed = css;
  for (;;) {
    // What a declaration names is used only as long as the declaration itself stays.
    const used = new Set(named);
    const outside = trimmed.replace(declaration, (_, name: string, value: string) => {
      for (const each of value.match(reference) ?? []) if (each !== name) used.add(each);
      return '';
    });
    for (const each of outside.match(reference) ?? []) used.add(each);
    const next = trimmed.replace(declaration, (whole, name: string) => (used.has(name) ? whole : ''));
    if (next.length === trimmed.length) break;
    trimmed = next;
  }
  return withoutEmptyRules(trimmed);
}

function withoutEmptyRules(css: string): string {
  let trimmed = css;
  for (;;) {
    const next = trimmed.replace(emptyRule, '');
    if (next.length === trimmed.length) return next;
    trimmed = next;
  }
}
