import { SluiceError } from '../errors/error.ts';
import { parseDigest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import { type RunResult, run } from '../process/run.ts';
import type { OsDeployment, OsDriver, OsStatus } from './driver.ts';

const stageMs = 4 * 3600_000;
const commandMs = 120_000;

export interface BootcOptions {
  readonly command?: string;
  readonly ostree?: string;
  /** The host that images are asked of: this node's own registry. */
  readonly pullFrom?: string;
}

/**
 * The `bootc` command (facts 1.7). What it stages is for download only: a reboot for another reason does not boot it
 * (it discards it, and it is staged again).
 */
export function bootcDriver(options: BootcOptions): OsDriver {
  const call = (program: string, args: readonly string[], timeoutMs = commandMs) =>
    run(program, args, { env: { ...process.env, LC_ALL: 'C' }, timeoutMs });
  const bootc = options.command ?? 'bootc';
  async function status(): Promise<OsStatus> {
    const result = await call(bootc, ['status', '--json']);
    if (result.code !== 0) throw failed('status', result);
    return parseBootcStatus(result.stdout).os;
  }
  return {
    name: 'bootc',
    rebootsHost: true,
    status,
    async stage(image, digest) {
      const { host, repository } = parseReference(image);
      const reference = `${options.pullFrom ?? host}/${repository}@${digest}`;
      const result = await call(bootc, ['switch', '--download-only', reference], stageMs);
      if (result.code === 0) return;
      if (!/unexpected argument|unrecognized/i.test(result.stderr)) throw failed('switch', result);
      // A bootc before `switch --download-only`: what it stages is locked right after.
      const switched = await call(bootc, ['switch', reference], stageMs);
      if (switched.code !== 0) throw failed('switch', switched);
      const locked = await call(options.ostree ?? 'ostree', ['admin', 'lock-finalization']);
      if (locked.code !== 0) throw failed('lock-finalization', locked);
    },
    async finalize(digest) {
      const { os, downloadOnly } = parseBootcStatus((await call(bootc, ['status', '--json'])).stdout);
      if (os.staged?.digest !== digest) {
        const found = os.staged?.digest ?? 'nothing';
        throw new SluiceError('Conflict', `expected ${digest} to be staged, but found ${found}`);
      }
      if (!downloadOnly) {
        // Unlocked already, by an order whose reboot never came or by a person: only the reboot is left.
        const reboot = await call('systemctl', ['reboot']);
        if (reboot.code !== 0) throw failed('systemctl reboot', reboot);
        return;
      }
      const result = await call(bootc, ['upgrade', '--from-downloaded', '--apply'], stageMs);
      if (result.code !== 0) throw failed('upgrade --from-downloaded --apply', result);
    },
  };
}

/** Whether to try again, by the words of the program and of systemctl. */
function failed(what: string, { code, signal, stderr, stdout, timedOut }: RunResult): SluiceError {
  const said = (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' | ').slice(0, 500);
  const message = `bootc ${what}: ${timedOut ? 'took too long' : said || `ended with ${code ?? signal}`}`;
  const blocked = /inhibit|[Aa]ccess ?[Dd]enied|Operation inhibited/.test(said);
  return new SluiceError(blocked ? 'Blocked' : 'CommandFailed', message);
}

interface RawEntry {
  readonly image?: {
    readonly image?: { readonly image?: unknown };
    readonly version?: unknown;
    readonly imageDigest?: unknown;
  } | null;
  readonly downloadOnly?: unknown;
}

/** Reads `bootc status --json` (BootcHost). A host that was not booted by an image has no booted entry. */
export function parseBootcStatus(text: string): { readonly os: OsStatus; readonly downloadOnly: boolean } {
  let status: { booted?: RawEntry | null; staged?: RawEntry | null; rollback?: RawEntry | null } | undefined;
  try {
    status = (JSON.parse(text) as { status?: typeof status }).status;
  } catch (error) {
    throw new SluiceError('InputInvalid', 'bootc status is not JSON', { cause: error });
  }
  const booted = entry(status?.booted);
  if (booted === undefined) throw new SluiceError('InputInvalid', 'bootc status: no image is booted');
  const staged = entry(status?.staged);
  const rollback = entry(status?.rollback);
  return {
    os: {
      booted,
      ...(staged === undefined ? {} : { staged }),
      others: rollback === undefined ? [] : [rollback],
    },
    downloadOnly: status?.staged?.downloadOnly === true,
  };
}

function entry(raw: RawEntry | null | undefined): OsDeployment | undefined {
  const name = raw?.image?.image?.image;
  try {
    const digest = parseDigest(String(raw?.image?.imageDigest));
    const version = raw?.image?.version;
    return {
      image: `${String(name).split('@')[0]}@${digest}`,
      digest,
      ...(typeof version === 'string' ? { version } : {}),
    };
  } catch {
    return undefined;
  }
}
