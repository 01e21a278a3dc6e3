/**
 * A URI of a request as Go's net/url reads it (ParseRequestURI): absolute, or a path; what follows `#` is no fragment.
 * WHATWG's URL of JavaScript rewrites hosts and paths, so it is not used.
 */
export interface Uri {
  readonly scheme: string;
  /** With the port, without user information; as written. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** The parts of a URI; undefined where Go would refuse the text. */
export function parseUri(text: string): Uri | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (text === '' || /[\x00-\x1f\x7f]/.test(text)) return undefined;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1] ?? '';
  const rest = scheme === '' ? text : text.slice(scheme.length + 1);
  if (!rest.startsWith('/')) {
    // Opaque: `mailto:a@b.c`; without a scheme it would be relative.
    return scheme === ''
      ? undefined
      : { scheme: scheme.toLowerCase(), host: '', path: '', query: queryOf(rest) };
  }
  const question = rest.indexOf('?');
  const before = question < 0 ? rest : rest.slice(0, question);
  const hasAuthority = before.startsWith('//') && (scheme !== '' || !before.startsWith('///'));
  const slash = hasAuthority ? before.indexOf('/', 2) : 0;
  const authority = hasAuthority ? before.slice(2, slash < 0 ? undefined : slash) : '';
  const path = hasAuthority ? (slash < 0 ? '' : before.slice(slash)) : before;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (hasAuthority && !isHost(host)) return undefined;
  if (!areEscapesWhole(path)) return undefined;
  return { scheme: scheme.toLowerCase(), host, path, query: queryOf(rest) };
}

function queryOf(rest: string): string {
  const question = rest.indexOf('?');
  return question < 0 ? '' : rest.slice(question + 1);
}

function isHost(host: string): boolean {
  const port = /^(?:\[[0-9A-Fa-f:.]+(?:%25[^\]%]+)?\]|[^[\]:]*)(:\d*)?$/;
  return port.test(host) && !/[\s<>"\\^`{|}]/.test(host) && areEscapesWhole(host);
}

/** Whether each `%` is followed by two hexadecimal digits. */
function areEscapesWhole(text: string): boolean {
  return !/%(?![0-9A-Fa-f]{2})/.test(text);
}

/** The name of a host without its port, brackets and escapes. */
export function hostnameOf(host: string): string {
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  return name.replace('%25', '%');
}

export function portOf(host: string): string {
  return /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? '';
}

/** The path with what may not stand in one escaped. */
export function escapedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@!*'()%[\]]/gu, (character) => encodeURIComponent(character));
}
