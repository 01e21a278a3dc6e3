/** One line of an htpasswd file. */
export interface HtpasswdEntry {
  readonly user: string;
  /** bcrypt, `$2a$`, `$2b$` or `$2y$`. */
  readonly hash: string;
}

const linesMax = 1_000;
const lineForm = /^([^:\s]{1,255}):(\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53})$/;

/**
 * Reads an htpasswd file. Only bcrypt is taken, as distribution does, and no cost above 14, which would hold
 * everybody for seconds; `onSkipped` is told of other lines by number.
 */
export function parseHtpasswd(text: string, onSkipped: (line: number) => void = () => {}): HtpasswdEntry[] {
  const entries: HtpasswdEntry[] = [];
  for (const [index, line] of text.split('\n').slice(0, linesMax).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [, user, hash] = lineForm.exec(trimmed) ?? [];
    if (user === undefined || hash === undefined) onSkipped(index + 1);
    else entries.push({ user, hash });
  }
  return entries;
}
