/** One declaration of a custom property: name, value. Strings may hold what ends a declaration elsewhere. */
const declaration = /(--pf-[\w-]+):((?:[^;{}"']|"[^"]*"|'[^']*')*)(?:;|(?=\}))/g;
const reference = /--pf-[\w-]+/g;
const emptyRule = /[^{};]+\{\s*\}/g;

/** A rule and what it is for. */
const plainRule = /([^{};]+)\{((?:[^{}"']|"[^"]*"|'[^']*')*)\}/g;
const className = /\.((?:pf-v6|pf-m)-[\w-]+)/g;

/**
 * Takes out of PatternFly's style sheet what nothing uses: rules for classes that no script ever sets (whole themes
 * are such), then custom properties, of which it declares every one of the design system, some thousands.
 *
 * @param scripts texts in which classes and properties are named.
 */
export function trimCss(css: string, scripts: readonly string[]): string {
  const named = new Set(scripts.flatMap((script) => script.match(reference) ?? []));
  let trimmed = withoutUnsetClasses(css, scripts);
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

function withoutUnsetClasses(css: string, scripts: readonly string[]): string {
  const set = new Set(scripts.flatMap((script) => script.match(/(?:pf-v6|pf-m)-[\w-]+/g) ?? []));
  return css.replace(plainRule, (whole, selector: string, body: string) => {
    if (selector.includes('@')) return whole;
    const kept = selectorsOf(selector).filter((each) => canMatch(each, set));
    return kept.length === 0 ? '' : `${kept.join(',')}{${body}}`;
  });
}

/** Whether all classes that a selector needs are ever set; what stands in `:not()` or in a list of others is no need. */
function canMatch(selector: string, set: ReadonlySet<string>): boolean {
  const needed = selector.replace(/:not\((?:[^()]|\([^()]*\))*\)/g, '').replace(/\([^()]*,[^()]*\)/g, '');
  return [...needed.matchAll(className)].every(([, name = '']) => set.has(name));
}

/** Selectors of a list: commas in brackets separate none. */
function selectorsOf(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < list.length; at += 1) {
    if (list[at] === '(' || list[at] === '[') depth += 1;
    else if (list[at] === ')' || list[at] === ']') depth -= 1;
    else if (list[at] === ',' && depth === 0) {
      parts.push(list.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, list.slice(start)];
}

function withoutEmptyRules(css: string): string {
  let trimmed = css;
  for (;;) {
    const next = trimmed.replace(emptyRule, '');
    if (next.length === trimmed.length) return next;
    trimmed = next;
  }
}
