/**
 * A word of a command that a person is shown, as a shell reads it back: in quotes where it would take it apart or put
 * something else in its place. What we run ourselves is a list of words and sees no shell.
 */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
