import { constants } from 'node:fs';
import { lstat, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fsyncDirectory, writeDurable } from '../durable/file.ts';
import { messageOf, systemCode } from '../errors/error.ts';
import { parseStrictJson } from '../oci/json.ts';

/** The permission that a marker file gives. */
export interface Marker {
  /** Unix seconds after which it is no permission any more; absent where it has no end. */
  readonly notAfter?: number;
  /** Consumed by the one reboot that it allows. */
  readonly once: boolean;
  /** Only for this release's version or digest. */
  readonly release?: string;
}

/** What a look at the marker file gave. */
export type MarkerLook =
  | { readonly kind: 'allowed'; readonly marker: Marker }
  | { readonly kind: 'denied'; readonly reason: string; readonly message: string };

/** A marker is a few words: anything larger is something else. */
export const markerBytesMax = 4096;
/** 2100-01-01 in Unix seconds: what lies beyond was written in milliseconds or by mistake. */
const notAfterMax = 4_102_444_800;

export interface MarkerRules {
  readonly allowWithoutExpiry: boolean;
  /** Numeric id of the only user who may own the file and its directory; root (0), or ours in tests. */
  readonly ownerUid: number;
}

/** Reads the words of a marker file. Pure. Refusals name their reason. */
export function parseMarker(bytes: Uint8Array, rules: Pick<MarkerRules, 'allowWithoutExpiry'>): MarkerLook {
  const denied = (reason: string, message: string): MarkerLook => ({ kind: 'denied', reason, message });
  if (bytes.length === 0) return denied('Empty', 'the marker file is empty');
  if (bytes.length > markerBytesMax) {
    return denied('TooLarge', `the marker file is larger than ${markerBytesMax} bytes`);
  }
  if (bytes[0] === 0xef) return denied('NotJson', 'the marker file begins with a byte order mark');
  let value: unknown;
  try {
    value = parseStrictJson(bytes, 'the marker file');
  } catch (error) {
    return denied('NotJson', messageOf(error));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return denied('NotAnObject', 'the marker file is not a JSON object');
  }
  const known = ['notAfter', 'allowUntil', 'once', 'release'];
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length > 0) {
    return denied(
      'UnknownKey',
      `the marker file has the unknown key '${unknown[0]}'; known are ${known.join(', ')}`,
    );
  }
  const { notAfter, allowUntil, once, release } = value as Record<string, unknown>;
  if (notAfter !== undefined && allowUntil !== undefined) {
    return denied('BothKeys', 'the marker file has both notAfter and allowUntil; it may have one');
  }
  const end = notAfter ?? allowUntil;
  if ('notAfter' in value || 'allowUntil' in value) {
    if (typeof end !== 'number' || !Number.isSafeInteger(end) || end < 0) {
      return denied('NotASecond', 'notAfter must be a whole number of Unix seconds');
    }
    if (end > notAfterMax) {
      return denied('TooFar', `notAfter ${end} is beyond the year 2100: it counts seconds, not milliseconds`);
    }
  } else if (!rules.allowWithoutExpiry) {
    return denied('NoExpiry', 'the marker file has no notAfter, and allow_without_expiry is not set');
  }
  if (once !== undefined && typeof once !== 'boolean')
    return denied('WrongType', 'once must be true or false');
  if (release !== undefined && (typeof release !== 'string' || release === '')) {
    return denied('WrongType', 'release must be a text');
  }
  return {
    kind: 'allowed',
    marker: {
      ...(end === undefined ? {} : { notAfter: end as number }),
      once: once === true,
      ...(release === undefined ? {} : { release: release as string }),
    },
  };
}

/**
 * Looks at a marker file: who may have written it, then what it says. One open handle for both, so that what was
 * judged is what was read; nothing on the path is followed through a link.
 */
export async function lookAtMarker(path: string, rules: MarkerRules): Promise<MarkerLook> {
  const denied = (reason: string, message: string): MarkerLook => ({ kind: 'denied', reason, message });
  const directory = await refuseDirectory(dirname(path), rules);
  if (directory !== undefined) return directory;
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    switch (systemCode(error)) {
      case 'ENOENT':
        return denied('NoMarker', `there is no marker file at ${path}`);
      case 'ELOOP':
        return denied('Link', `${path} is a symbolic link`);
      default:
        return denied('Unreadable', `${path} cannot be read: ${messageOf(error)}`);
    }
  }
  try {
    const found = await handle.stat();
    if (!found.isFile()) return denied('NotAFile', `${path} is not a regular file`);
    if (found.uid !== rules.ownerUid) {
      return denied('WrongOwner', `${path} is owned by uid ${found.uid}, not by uid ${rules.ownerUid}`);
    }
    if ((found.mode & 0o022) !== 0) {
      return denied(
        'Writable',
        `${path} may be written by others than its owner (mode ${octal(found.mode)})`,
      );
    }
    if (found.nlink > 1) return denied('Link', `${path} has ${found.nlink} hard links`);
    if (found.size > markerBytesMax) return parseMarker(new Uint8Array(markerBytesMax + 1), rules);
    return parseMarker(await handle.readFile(), rules);
  } catch (error) {
    return denied('Unreadable', `${path} cannot be read: ${messageOf(error)}`);
  } finally {
    await handle.close();
  }
}

/** Whoever may write the directory may replace the file. */
async function refuseDirectory(directory: string, rules: MarkerRules): Promise<MarkerLook | undefined> {
  try {
    const found = await lstat(directory);
    if (!found.isDirectory()) {
      return { kind: 'denied', reason: 'Link', message: `${directory} is not a directory, or a link to one` };
    }
    if (found.uid !== rules.ownerUid || (found.mode & 0o022) !== 0) {
      return {
        kind: 'denied',
        reason: 'DirectoryWritable',
        message: `${directory} belongs to uid ${found.uid} with mode ${octal(found.mode)}: others could replace the marker file`,
      };
    }
    return undefined;
  } catch (error) {
    const missing = systemCode(error) === 'ENOENT';
    return {
      kind: 'denied',
      reason: missing ? 'NoMarker' : 'Unreadable',
      message: missing ? `there is no directory ${directory} for a marker file` : messageOf(error),
    };
  }
}

function octal(mode: number): string {
  return `0${(mode & 0o7777).toString(8)}`;
}

/** Whether a marker that was read allows this release now. `now` in Unix milliseconds. */
export function markerAllows(
  marker: Marker,
  release: { version?: string; digest?: string },
  now: number,
): MarkerLook {
  if (marker.notAfter !== undefined && now >= marker.notAfter * 1000) {
    const ended = new Date(marker.notAfter * 1000).toISOString();
    return { kind: 'denied', reason: 'Expired', message: `the window has ended at ${ended}` };
  }
  if (
    marker.release !== undefined &&
    marker.release !== release.version &&
    marker.release !== release.digest
  ) {
    const staged = release.version ?? release.digest ?? 'another release';
    return {
      kind: 'denied',
      reason: 'OtherRelease',
      message: `the window is for ${marker.release}, staged is ${staged}`,
    };
  }
  return { kind: 'allowed', marker };
}

/** A window of the cluster became a marker: where that is gone, the window is closed here, used up for instance. */
export function closedWindowOf(
  window: { readonly notAfter?: number } | undefined,
  look: MarkerLook,
): { readonly closedWindow?: number } {
  const gone = look.kind === 'denied' && look.reason === 'NoMarker';
  return gone && window?.notAfter !== undefined ? { closedWindow: window.notAfter } : {};
}

/** Opens the window: writes the marker file, whole or not at all, with the owner and mode that are asked of it. */
export async function writeMarker(path: string, marker: Marker): Promise<void> {
  const words = {
    ...(marker.notAfter === undefined ? {} : { notAfter: marker.notAfter }),
    ...(marker.once ? { once: true } : {}),
    ...(marker.release === undefined ? {} : { release: marker.release }),
  };
  await writeDurable(path, `${JSON.stringify(words)}\n`, { mode: 0o644 });
}

/** Closes the window, durably. Nothing to close is no error. */
export async function removeMarker(path: string): Promise<boolean> {
  try {
    await rm(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
  await fsyncDirectory(dirname(path));
  return true;
}

/** The file name inside a node's marker directory. */
export const markerFileName = 'allowfinalize.json';

export function markerPathIn(directory: string): string {
  return join(directory, markerFileName);
}
