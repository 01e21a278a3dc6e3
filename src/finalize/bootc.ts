import { SluiceError } from '../errors/error.ts';
import { parseDigest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import { run } from '../process/run.ts';
import { type OsDeployment, type OsDriver, type OsStatus, requireSameOrigin } from './driver.ts';
import { orderOutcome, refusal } from './refusal.ts';

const stageMs = 4 * 3600_000;
const commandMs = 120_000;

const program = 'bootc';

export interface BootcOptions {
  readonly command?: string;
  readonly ostree?: string;
  readonly systemctl?: string;
  /**
   * The host that images are asked of: this node's own registry, which has verified the release. Absent: the host goes
   * on along the image that it was booted from, whatever the update graph says.
   */
  readonly pullFrom?: string;
}

/**
 * The `bootc` command. What it stages is for download only, or locked where it cannot do that yet: a reboot for
 * another reason does not boot it (it discards it, and it is staged again).
 */
export function bootcDriver(options: BootcOptions): OsDriver {
  const call = (command: string, args: readonly string[], timeoutMs = commandMs) =>
    run(command, args, { env: { ...process.env, LC_ALL: 'C' }, timeoutMs });
  const bootc = options.command ?? program;
  const ostree = options.ostree ?? 'ostree';
  async function read(): Promise<ReturnType<typeof parseBootcStatus>> {
    const result = await call(bootc, ['status', '--json']);
    if (result.code !== 0) throw refusal(program, 'status', result);
    return parseBootcStatus(result.stdout);
  }
  return {
    name: 'bootc',
    rebootsHost: true,
    status: async () => (await read()).os,
    async stage(image, digest) {
      const { os, signature } = await read();
      if (options.pullFrom === undefined) requireSameOrigin(image, os.booted);
      const { host, repository } = parseReference(image);
      const reference = `${options.pullFrom ?? host}/${repository}@${digest}`;
      const words = [...(options.pullFrom === undefined ? signatureWords(signature) : []), reference];
      const result = await call(bootc, ['switch', '--download-only', ...words], stageMs);
      if (result.code === 0) return;
      if (!/unexpected argument|unrecognized/i.test(result.stderr)) throw refusal(program, 'switch', result);
      // `switch` knows no --download-only yet: what it stages is locked right after.
      const switched = await call(bootc, ['switch', ...words], stageMs);
      if (switched.code !== 0) throw refusal(program, 'switch', switched);
      const locked = await call(ostree, ['admin', 'lock-finalization']);
      if (locked.code !== 0) throw refusal('ostree', 'admin lock-finalization', locked);
    },
    async finalize(digest) {
      const { os, downloadOnly } = await read();
      if (os.staged?.digest !== digest) {
        const found = os.staged?.digest ?? 'nothing';
        throw new SluiceError('Conflict', `expected ${digest} to be staged, but found ${found}`);
      }
      if (downloadOnly) {
        const applied = await call(bootc, ['upgrade', '--from-downloaded', '--apply'], stageMs);
        return orderOutcome(program, 'upgrade --from-downloaded --apply', applied);
      }
      // A bootc that does not tell what is locked, or an order before whose reboot never came. To unlock twice is once.
      const unlocked = await call(ostree, ['admin', 'lock-finalization', '--unlock']);
      if (unlocked.code !== 0) throw refusal('ostree', 'admin lock-finalization --unlock', unlocked);
      return orderOutcome('systemctl', 'reboot', await call(options.systemctl ?? 'systemctl', ['reboot']));
    },
  };
}

/** How the signature of the booted image was checked, as `switch` must be told again: it forgets it. Errors: Conflict. */
function signatureWords(signature: unknown): string[] {
  if (signature === undefined || signature === null || signature === 'insecure') return [];
  if (signature === 'containerPolicy') return ['--enforce-container-sigpolicy'];
  throw new SluiceError(
    'Conflict',
    'the booted image is checked by the keys of an ostree remote, which bootc switch drops',
    {
      next: 'Use the rpm-ostree driver (--os-driver rpm-ostree), or have the image checked by /etc/containers/policy.json.',
    },
  );
}

interface RawEntry {
  readonly image?: {
    readonly image?: { readonly image?: unknown; readonly signature?: unknown };
    readonly version?: unknown;
    readonly imageDigest?: unknown;
  } | null;
  readonly downloadOnly?: unknown;
}

/** Reads `bootc status --json` (BootcHost). A host that was not booted by an image has no booted entry. */
export function parseBootcStatus(text: string): {
  readonly os: OsStatus;
  readonly downloadOnly: boolean;
  /** Of the booted image: `containerPolicy`, `insecure`, `{ostreeRemote}`, or absent. */
  readonly signature: unknown;
} {
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
    signature: status?.booted?.image?.image?.signature,
  };
}

function entry(raw: RawEntry | null | undefined): OsDeployment | undefined {
  const name = raw?.image?.image?.image;
  try {
    const digest = parseDigest(String(raw?.image?.imageDigest));
    const version = raw?.image?.version;
    return {
      image: `${String(name)
        .split('@')[0]
        ?.replace(/:[\w][\w.-]{0,127}$/, '')}@${digest}`,
      digest,
      ...(typeof version === 'string' ? { version } : {}),
    };
  } catch {
    return undefined;
  }
}
