const quote = 0x22;
const backslash = 0x5c;

/**
 * The paths of members that stand more than once in one object of a JSON text, as `spec.containers[0].name`. The text
 * must have been parsed: it is only walked here, so that a member that `JSON.parse` has dropped is seen.
 */
export function duplicateMembers(text: string): string[] {
  const found: string[] = [];
  /** One entry an open bracket: of an object its members and the last of them, of a list the position. */
  const open: ({ seen: Set<string>; member: string } | { at: number })[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const inner = open.at(-1);
    switch (text.charCodeAt(at)) {
      case 0x7b:
        open.push({ seen: new Set(), member: '' });
        break;
      case 0x5b:
        open.push({ at: 0 });
        break;
      case 0x7d:
      case 0x5d:
        open.pop();
        break;
      case 0x2c:
        if (inner !== undefined && 'at' in inner) inner.at += 1;
        break;
      case quote: {
        const end = endOfText(text, at);
        if (inner !== undefined && 'seen' in inner && isMember(text, end)) {
          inner.member = JSON.parse(text.slice(at, end + 1)) as string;
          if (inner.seen.has(inner.member)) found.push(pathOf(open));
          inner.seen.add(inner.member);
        }
        at = end;
      }
    }
  }
  return found;
}

function endOfText(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
}

/** Whether a colon follows: the text was the name of a member. */
function isMember(text: string, end: number): boolean {
  let at = end + 1;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === 0x3a;
}

function pathOf(open: readonly ({ member: string } | { at: number })[]): string {
  return open
    .map((one, depth) => ('at' in one ? `[${one.at}]` : `${depth === 0 ? '' : '.'}${one.member}`))
    .join('');
}
