/**
 * The one table of errors: what each code means, the exit code of a command that ends with it, the HTTP status
 * a server answers, and what the reader can do next. `docs/errors.md` is held equal to it by a test.
 */

/** Exit codes of the command line (docs/errors.md): 0 done, and these. */
export type ExitCode = 1 | 2 | 3 | 5 | 6;

interface ErrorRow {
  readonly exit: ExitCode;
  readonly http: number;
  readonly meaning: string;
  readonly next: string;
}

export const errorTable = {
  Usage: {
    exit: 2,
    http: 400,
    meaning: 'The words of the command are not what it takes.',
    next: 'See the help of the command: add --help.',
  },
  Internal: {
    exit: 1,
    http: 500,
    meaning: 'Sluice met a state that it does not expect: a defect.',
    next: 'Run again with SLUICE_LOG=debug, and report what it prints with what sluice gather collects.',
  },
  NotFound: {
    exit: 1,
    http: 404,
    meaning: 'What was named does not exist.',
    next: 'Correct the name or the path, then run it again.',
  },
  Conflict: {
    exit: 1,
    http: 409,
    meaning: 'The state of the world has changed, or other content stands under the same name.',
    next: 'Take another name or place, or remove what stands there, then run it again.',
  },
  Unauthorized: {
    exit: 1,
    http: 401,
    meaning: 'Credentials are missing or wrong.',
    next: 'Log in anew, or name other credentials (a cluster: --kubeconfig; a registry: --authfile), then run it again.',
  },
  Forbidden: {
    exit: 1,
    http: 403,
    meaning: 'The identity is known and may not do this.',
    next: 'Run it as one who may (on a host: root; in a cluster: another --kubeconfig), or be given the right.',
  },
  InputInvalid: {
    exit: 1,
    http: 400,
    meaning: 'A file, document or object does not have the shape it must have.',
    next: 'Correct it at the place that is named, then run it again.',
  },
  InputTooLarge: {
    exit: 1,
    http: 413,
    meaning: 'Foreign input is larger or deeper than the limit.',
    next: 'Make it smaller than the limit, then run it again.',
  },
  DigestInvalid: {
    exit: 1,
    http: 400,
    meaning: 'A digest does not follow the grammar of the OCI image specification.',
    next: 'Write it as sha256:<64 lower-case hexadecimal digits>.',
  },
  DigestMismatch: {
    exit: 6,
    http: 500,
    meaning: 'The bytes are not the ones that were signed.',
    next: 'The medium or the copy is damaged: make it again, or attach another copy.',
  },
  ContentMissing: {
    exit: 6,
    http: 404,
    meaning: 'A blob or manifest that the content needs is not there.',
    next: 'Make the bundle again (sluice bundle build), or attach media that carry it: sluice media attach PATH.',
  },
  SignatureMissing: {
    exit: 6,
    http: 403,
    meaning: 'The bundle carries no signature.',
    next: 'Ask its maker for signed media: unsigned ones are never used. Who decides to trust them signs them anew, from a source media:PATH (sluice bundle build --help).',
  },
  SignatureUntrusted: {
    exit: 6,
    http: 403,
    meaning: 'No trusted key made a signature of the bundle.',
    next: 'If you trust its maker, give the public key: to a command that takes it by --key FILE, to a cluster in the ConfigMap sluice-trusted-keys (docs/bundles.md says how).',
  },
  ReferenceUnresolved: {
    exit: 1,
    http: 400,
    meaning: 'An image that is named has no source.',
    next: 'Give its source: --image NAME=SOURCE.',
  },
  MediaLost: {
    exit: 5,
    http: 503,
    meaning: 'Media disappeared while they were read.',
    next: 'Attach them again: sluice media attach PATH; the copy goes on where it stopped.',
  },
  MediaUnreadable: {
    exit: 1,
    http: 400,
    meaning: 'What was attached carries no bundle that can be read.',
    next: 'Look whether the path is right and the disk was written whole: sluice bundle verify PATH --key FILE.',
  },
  DiskFull: {
    exit: 5,
    http: 507,
    meaning: 'There is not enough space on the disk.',
    next: 'Free the space, for instance by sluice release rm of an old release; the work goes on by itself.',
  },
  Stalled: {
    exit: 5,
    http: 504,
    meaning: 'No bytes moved for longer than the limit.',
    next: 'See which node it is and how far it came: sluice release status; it is tried again by itself.',
  },
  Unreachable: {
    exit: 5,
    http: 503,
    meaning: 'A server did not answer.',
    next: 'Start it, or correct its address (a cluster: --kubeconfig, one of this machine: sluice up status), then run it again.',
  },
  ClusterApi: {
    exit: 1,
    http: 502,
    meaning: 'The cluster API met an error of its own.',
    next: "Run it again; where it stays so, the API server's own log says why (sluice up: DIR/logs/apiserver.log).",
  },
  Timeout: {
    exit: 5,
    http: 504,
    meaning: 'Something did not happen in time.',
    next: 'Run it again to go on waiting; what holds it is shown by: sluice upgrade status, sluice release status, sluice node why.',
  },
  Blocked: {
    exit: 3,
    http: 409,
    meaning: 'A finding stands against it.',
    next: 'Mend what the findings name, or accept a risk by its name: sluice upgrade accept NAME --to VERSION.',
  },
  InUse: {
    exit: 3,
    http: 409,
    meaning: 'The release is in use, so it cannot be removed.',
    next: 'Update the cluster to another release first: sluice upgrade; who uses it is shown by: sluice release ls.',
  },
  CannotIsolate: {
    exit: 5,
    http: 500,
    meaning: 'This host can run neither containers nor a sandbox.',
    next: 'Run as root, or where user namespaces are allowed.',
  },
  CommandFailed: {
    exit: 1,
    http: 500,
    meaning: 'A program that Sluice calls ended with an error.',
    next: 'Run that program by hand with the same words, mend what it complains of, then run this again.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** An operating error: expected, handled, explained. A programmer's error is an `AssertionError` instead. */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** What to do next, in words of this very case; the table's own where absent. */
  readonly next: string;

  /** @param message what happened and where, in one sentence without the remedy. */
  constructor(code: ErrorCode, message: string, options: { cause?: unknown; next?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.next = options.next ?? errorTable[code].next;
  }
}

/** The message of anything thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}

/** Whether `error` is an operating error of one of these codes. */
export function isSluiceError(error: unknown, ...codes: ErrorCode[]): error is SluiceError {
  return error instanceof SluiceError && (codes.length === 0 || codes.includes(error.code));
}

/** The `code` of a Node system error (`ENOENT`, …), undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
