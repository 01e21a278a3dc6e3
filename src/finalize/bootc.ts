import { SluiceError } from '../errors/error.ts';
import { parseDigest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import { run } from '../process/run.ts';
import { commitImage, type OsDeployment, type OsDriver, type OsStatus, requireSameOrigin } from './driver.ts';
import { foreignText } from './hold.ts';
import { orderOutcome, refusal } from './refusal.ts';

const stageMs = 4 * 3600_000;
/** Also for the order to reboot: bootc does not return from one that was taken, it waits to be ended by it. */
const commandMs = 120_000;

const program = 'bootc';

export interface BootcOptions {
  readonly command?: string;
  readonly ostree?: string;
  readonly systemctl?: string;
  /**
   * The host that an image is asked of: a registry of the cluster, which has verified the release. Absent: the host goes
   * on along the image that it was booted from, whatever the update graph says.
   */
  readonly pullFrom?: (image: string) => Promise<string>;
  /** How long an order to reboot may take; milliseconds. */
  readonly orderMs?: number;
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
      const { os, signature, transport } = await read();
      if (options.pullFrom === undefined) {
        requireSameOrigin(image, os.booted);
        requireRegistry(transport);
      }
      const { host, repository } = parseReference(image);
      const reference = `${(await options.pullFrom?.(image)) ?? host}/${repository}@${digest}`;
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
        const applied = await call(bootc, ['upgrade', '--from-downloaded', '--apply'], options.orderMs);
        return orderOutcome(program, 'upgrade --from-downloaded --apply', applied);
      }
      // A bootc that does not tell what is locked, or an order before whose reboot never came. To unlock twice is once.
      const unlocked = await call(ostree, ['admin', 'lock-finalization', '--unlock']);
      if (unlocked.code !== 0) throw refusal('ostree', 'admin lock-finalization --unlock', unlocked);
      return orderOutcome('systemctl', 'reboot', await call(options.systemctl ?? 'systemctl', ['reboot']));
    },
  };
}

/** An update graph names images of registries; which image of another kind would be the next one, it cannot say. */
function requireRegistry(transport: unknown): void {
  if (transport === undefined || transport === 'registry') return;
  throw new SluiceError(
    'Conflict',
    `the booted image came by '${foreignText(String(transport), 32)}', and an update graph names images of registries`,
    { next: 'Switch the host to its image in a registry by hand (bootc switch); it goes on from there.' },
  );
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
    readonly image?: { readonly image?: unknown; readonly signature?: unknown; readonly transport?: unknown };
    readonly version?: unknown;
    readonly imageDigest?: unknown;
  } | null;
  readonly ostree?: { readonly checksum?: unknown } | null;
  readonly downloadOnly?: unknown;
}

interface RawStatus {
  readonly booted?: RawEntry | null;
  readonly staged?: RawEntry | null;
  readonly rollback?: RawEntry | null;
  /** Deployments that are pinned. */
  readonly otherDeployments?: unknown;
}

/** Reads `bootc status --json` (BootcHost). A host that was not booted by an image is none of bootc's. */
export function parseBootcStatus(text: string): {
  readonly os: OsStatus;
  readonly downloadOnly: boolean;
  /** Of the booted image: `containerPolicy`, `insecure`, `{ostreeRemote}`, or absent. */
  readonly signature: unknown;
  /** By what the booted image came: `registry`, `oci`, …, or absent. */
  readonly transport: unknown;
} {
  let status: RawStatus | undefined;
  try {
    status = (JSON.parse(text) as { status?: RawStatus }).status;
  } catch (error) {
    throw new SluiceError('InputInvalid', 'bootc status is not JSON', { cause: error });
  }
  const booted = imageOf(status?.booted);
  if (booted === undefined) throw new SluiceError('InputInvalid', 'bootc status: no image is booted');
  const staged = deploymentOf(status?.staged);
  const { rollback, otherDeployments } = status ?? {};
  const kept: readonly (RawEntry | null | undefined)[] = [
    rollback,
    ...(Array.isArray(otherDeployments) ? otherDeployments : []),
  ];
  return {
    os: {
      booted,
      ...(staged === undefined ? {} : { staged }),
      others: kept.map(deploymentOf).filter((each) => each !== undefined),
    },
    downloadOnly: status?.staged?.downloadOnly === true,
    signature: status?.booted?.image?.image?.signature,
    transport: status?.booted?.image?.image?.transport,
  };
}

/**
 * A deployment that bootc does not understand (packages that were layered by rpm-ostree, a commit) has no image, and
 * is somebody's all the same: it is known by its checksum.
 */
function deploymentOf(raw: RawEntry | null | undefined): OsDeployment | undefined {
  const image = imageOf(raw);
  if (image !== undefined) return image;
  try {
    const digest = parseDigest(`sha256:${String(raw?.ostree?.checksum)}`);
    return { image: `${commitImage}@${digest}`, digest };
  } catch {
    return undefined;
  }
}

function imageOf(raw: RawEntry | null | undefined): OsDeployment | undefined {
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
