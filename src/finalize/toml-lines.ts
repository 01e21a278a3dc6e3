const part = `(?:"[^"]*"|'[^']*'|[\\w-]+)`;
const dotted = `${part}(?:\\s*\\.\\s*${part})*`;
const arrayTable = new RegExp(`^\\s*\\[\\[\\s*(${dotted})\\s*\\]\\]`);
const table = new RegExp(`^\\s*\\[\\s*(${dotted})\\s*\\]`);
const pair = new RegExp(`^\\s*(${dotted})\\s*=(.*)$`);

/**
 * The line, from 1, on which each key of a TOML document stands; tables too, an array's by its first. The document
 * has been parsed before, so what this reads is well formed; the parser itself keeps no places.
 */
export function keyLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const note = (key: string, line: number) => {
    if (!lines.has(key)) lines.set(key, line);
  };
  let prefix = '';
  let closing: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (closing !== undefined) {
      if (line.includes(closing)) closing = undefined;
      continue;
    }
    const header = arrayTable.exec(line) ?? table.exec(line);
    if (header !== null) {
      prefix = plain(header[1] ?? '');
      note(prefix, index + 1);
      continue;
    }
    const found = pair.exec(line);
    if (found === null) continue;
    const key = plain(found[1] ?? '');
    note(prefix === '' ? key : `${prefix}.${key}`, index + 1);
    closing = openString(found[2] ?? '');
  }
  return lines;
}

/** The mark that ends a string of several lines, where one begins here and does not end. */
function openString(value: string): string | undefined {
  for (const mark of ['"""', "'''"]) {
    const at = value.indexOf(mark);
    if (at !== -1 && !value.includes(mark, at + 3)) return mark;
  }
  return undefined;
}

function plain(key: string): string {
  return [...key.matchAll(new RegExp(part, 'g'))]
    .map(([word]) => word.replaceAll(/^["']|["']$/g, ''))
    .join('.');
}

/** The line of a key, or of the nearest table that it stands in; 0 where neither is known. */
export function lineOf(lines: ReadonlyMap<string, number>, key: string): number {
  for (let name = key; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
    const line = lines.get(name);
    if (line !== undefined) return line;
  }
  return 0;
}
