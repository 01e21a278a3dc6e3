/** Changed letters by which a misspelt name may differ from the one that was meant. */
const changedMax = 2;

/** The one of `names` that differs from `word` by the fewest letters, where those are few enough for a slip. Pure. */
export function nearName(word: string, names: Iterable<string>): string | undefined {
  let near: { readonly name: string; readonly changed: number } | undefined;
  for (const name of names) {
    const changed = changedLetters(word, name);
    if (
      changed <= changedMax &&
      changed < name.length &&
      changed < (near?.changed ?? Number.POSITIVE_INFINITY)
    ) {
      near = { name, changed };
    }
  }
  return near?.name;
}

/** Letters to insert, leave out or replace (Levenshtein), of names that are short by their format. */
function changedLetters(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const row = [index + 1];
    for (let at = 1; at <= other.length; at += 1) {
      const replaced = (above[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[at] ?? 0) + 1, (row[at - 1] ?? 0) + 1));
    }
    above = row;
  }
  return above[other.length] ?? 0;
}
