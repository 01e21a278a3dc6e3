import { SluiceError } from '../errors/error.ts';
import { type Digest, parseDigest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import { run } from '../process/run.ts';
import { commitImage, type OsDeployment, type OsDriver, type OsStatus, requireSameOrigin } from './driver.ts';
import { orderOutcome, refusal } from './refusal.ts';

/** Downloading a system takes as long as it takes; this only ends what hangs. Milliseconds. */
const stageMs = 4 * 3600_000;
const commandMs = 120_000;
const program = 'rpm-ostree';
const statusBytesMax = 8 * 1024 * 1024;

/**
 * The `rpm-ostree` command. What it stages is locked: only `finalize-deployment` with the expected checksum, or for an
 * image its digest, unlocks it and reboots.
 *
 * @param options.pullFrom the host that an image is asked of: a registry of the cluster, which has verified the release.
 * Absent: the host goes on along the origin that it was booted from, whatever the update graph says.
 */
export function rpmOstreeDriver(options: {
  readonly command?: string;
  readonly pullFrom?: (image: string) => Promise<string>;
  /** How long an order to reboot may take; milliseconds. */
  readonly orderMs?: number;
}): OsDriver {
  const command = options.command ?? program;
  let registered = false;
  const call = (args: readonly string[], timeoutMs = commandMs) =>
    run(command, args, {
      env: { ...process.env, RPMOSTREE_CLIENT_ID: 'sluice', LC_ALL: 'C' },
      timeoutMs,
      outputBytesMax: statusBytesMax,
    });
  async function status(): Promise<OsStatus> {
    const result = await call(['status', '--json']);
    if (result.code !== 0) throw refusal(program, 'status', result);
    return parseRpmOstreeStatus(result.stdout);
  }
  async function register(): Promise<void> {
    if (registered) return;
    const result = await call(['deploy', '', '--register-driver=Sluice']);
    if (result.code !== 0) throw refusal(program, 'deploy --register-driver', result);
    registered = true;
  }
  return {
    name: 'rpm-ostree',
    rebootsHost: true,
    status,
    async stage(image, digest, { allowDowngrade = false } = {}) {
      await register();
      const { booted } = await status();
      const args = stageArguments(image, digest, booted, await options.pullFrom?.(image));
      const result = await call([...args, ...(allowDowngrade ? [] : ['--disallow-downgrade'])], stageMs);
      if (result.code !== 0) throw refusal(program, args[0] ?? '', result);
    },
    async finalize(digest) {
      const { staged } = await status();
      if (staged?.digest !== digest) {
        throw new SluiceError(
          'Conflict',
          `expected ${digest} to be staged, but found ${staged?.digest ?? 'nothing'}`,
        );
      }
      const expected = staged.image.startsWith(`${commitImage}@`) ? digest.slice('sha256:'.length) : digest;
      const { orderMs } = options;
      let result = await call(['finalize-deployment', expected], orderMs);
      // Unlocked by an order whose reboot never came: the checksum is still compared.
      if (result.code !== 0 && /already unlocked/i.test(result.stderr)) {
        result = await call(['finalize-deployment', '--allow-unlocked', expected], orderMs);
      }
      return orderOutcome(program, 'finalize-deployment', result);
    },
  };
}

/** What is said to `rpm-ostree` to stage an image or a commit. Pure. Errors: Conflict. */
export function stageArguments(
  image: string,
  digest: Digest,
  booted: OsDeployment | undefined,
  pullFrom?: string,
): string[] {
  if (image.startsWith(`${commitImage}@`)) {
    const revision = `revision=${digest.slice('sha256:'.length)}`;
    return ['deploy', '--lock-finalization', '--skip-branch-check', revision];
  }
  if (pullFrom === undefined) {
    requireSameOrigin(image, booted);
    return ['deploy', '--lock-finalization', digest];
  }
  const origin = `${pullFrom}/${parseReference(image).repository}`;
  if (booted?.image.split('@')[0] === origin) return ['deploy', '--lock-finalization', digest];
  return ['rebase', '--lock-finalization', `ostree-unverified-registry:${origin}@${digest}`];
}

interface RawDeployment {
  readonly booted?: unknown;
  readonly staged?: unknown;
  readonly checksum?: unknown;
  readonly 'base-checksum'?: unknown;
  readonly version?: unknown;
  readonly 'container-image-reference'?: unknown;
  readonly 'container-image-reference-digest'?: unknown;
  readonly 'base-commit-meta'?: Readonly<Record<string, unknown>>;
}

/**
 * Reads `rpm-ostree status --json`. Only the booted deployment must be understood; of others that are not, nothing is
 * said. Errors: InputInvalid.
 */
export function parseRpmOstreeStatus(text: string): OsStatus {
  let deployments: unknown;
  try {
    deployments = (JSON.parse(text) as { deployments?: unknown }).deployments;
  } catch (error) {
    throw new SluiceError('InputInvalid', 'rpm-ostree status is not JSON', { cause: error });
  }
  if (!Array.isArray(deployments))
    throw new SluiceError('InputInvalid', 'rpm-ostree status lists no deployments');
  let booted: OsDeployment | undefined;
  let staged: OsDeployment | undefined;
  let stream: string | undefined;
  const others: OsDeployment[] = [];
  for (const raw of deployments as (RawDeployment | null)[]) {
    if (raw === null || typeof raw !== 'object') continue;
    const deployment = deploymentOf(raw);
    if (raw.booted === true) {
      if (deployment === undefined) {
        throw new SluiceError('InputInvalid', 'rpm-ostree status: the booted deployment has no checksum');
      }
      booted = deployment;
      stream = streamOf(raw);
    } else if (deployment !== undefined) {
      if (raw.staged === true) staged = deployment;
      else others.push(deployment);
    }
  }
  if (booted === undefined) throw new SluiceError('InputInvalid', 'rpm-ostree status: nothing is booted');
  return {
    booted,
    ...(staged === undefined ? {} : { staged }),
    others,
    ...(stream === undefined ? {} : { stream }),
  };
}

function deploymentOf(raw: RawDeployment): OsDeployment | undefined {
  const version = typeof raw.version === 'string' ? { version: raw.version } : {};
  const reference = raw['container-image-reference'];
  const digest = raw['container-image-reference-digest'];
  try {
    if (typeof reference === 'string' && typeof digest === 'string') {
      return { image: `${imageName(reference)}@${digest}`, digest: parseDigest(digest), ...version };
    }
    const checksum = raw['base-checksum'] ?? raw.checksum;
    const commit = parseDigest(`sha256:${String(checksum)}`);
    return { image: `${commitImage}@${commit}`, digest: commit, ...version };
  } catch {
    return undefined;
  }
}

/** What stands before the image in an origin: how its signature is checked, by which remote, and the transport. */
const originPrefix =
  /^(?:ostree-remote-(?:registry|image):[^:]+:|ostree-[a-z-]+:)?(?:registry:|docker:\/\/|docker:)?/;

/** `ostree-image-signed:docker://host/repo:tag`, `ostree-remote-registry:fedora:host/repo@…`: the image alone. */
function imageName(reference: string): string {
  const name = reference.replace(originPrefix, '');
  return (name.split('@')[0] ?? name).replace(/:[\w][\w.-]{0,127}$/, '');
}

function streamOf(raw: RawDeployment): string | undefined {
  const meta = raw['base-commit-meta'] ?? {};
  const direct = meta['fedora-coreos.stream'];
  if (typeof direct === 'string') return direct;
  for (const key of ['ostree.container.image-config', 'ostree.manifest']) {
    try {
      const document = JSON.parse(String(meta[key])) as {
        config?: { Labels?: Record<string, string> };
        annotations?: Record<string, string>;
      };
      const found =
        document.config?.Labels?.['com.coreos.stream'] ?? document.annotations?.['fedora-coreos.stream'];
      if (typeof found === 'string') return found;
    } catch {
      // Not there, or nothing that we know.
    }
  }
  return undefined;
}
