/** One file of the archive. */
export interface GatherEntry {
  /** Below the top folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Told of what could not be had, and goes on. */
export type Miss = (what: string, why: string) => void;

/** Bytes that one log or list may have: of a longer one the end is kept, where the trouble is. */
export const textBytesMax = 4 * 1024 * 1024;

/** The end of a text that is too long, and a line that says so. */
export function lastOf(text: string, bytesMax = textBytesMax): string {
  if (text.length <= bytesMax) return text;
  return `[the first ${text.length - bytesMax} characters are left out]\n${text.slice(-bytesMax)}`;
}
