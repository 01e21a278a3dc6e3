import { randomBytes } from 'node:crypto';
import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { isFindingName } from '../gates/finding.ts';
import { meantVersion } from '../gates/meant-version.ts';
import { implicitName, runAnnotations, runIDBytes, runIDOf } from '../gates/run-request.ts';
import { newestFirst } from '../gates/version.ts';
import { hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { parseReference } from '../oci/reference.ts';
import { createApiInt } from '../release/api-int.ts';
import { knownBundles } from '../release/content.ts';

/** A release as a person names it, resolved to the digest of its payload. */
export interface NamedRelease {
  readonly digest: string;
  readonly image: string;
  readonly version?: string;
}

/**
 * The release that these words mean, among the bundles that nodes hold or have on media.
 * Errors: NotFound, Conflict, Usage.
 */
export async function nameRelease(
  client: KubeClient,
  words: { readonly to?: string; readonly image?: string },
): Promise<NamedRelease> {
  if (words.image !== undefined) {
    const { digest } = parseReference(words.image);
    if (digest === undefined) {
      throw new SluiceError('Usage', `the image ${words.image} is not named by digest`, {
        next: 'Write it as …@sha256:<digest>: a tag may be moved to another release.',
      });
    }
    return { digest, image: words.image, ...(words.to === undefined ? {} : { version: words.to }) };
  }
  const bundles = await knownBundles(client);
  const versions = [...new Set(bundles.map((bundle) => bundle.version))].sort(newestFirst);
  const wanted = bundles.filter((bundle) => bundle.version === words.to);
  const [digest, other] = [...new Set(wanted.map((bundle) => bundle.payload))];
  if (digest === undefined) {
    const known =
      versions.length === 0 ? 'none is' : `${versions.join(', ')} ${versions.length === 1 ? 'is' : 'are'}`;
    const attach = 'Attach media that carry it: sluice media attach PATH --node NODE.';
    const meant = meantVersion(words.to ?? '', versions);
    throw new SluiceError('NotFound', `no bundle at hand holds the version ${words.to}; ${known} at hand`, {
      next: meant === undefined ? attach : `${meant} If not: ${attach.replace(/^A/, 'a')}`,
    });
  }
  if (other !== undefined) {
    throw new SluiceError(
      'Conflict',
      `two different payloads claim the version ${words.to}: ${digest} and ${other}`,
      {
        next: 'Name the one that you mean: --to-image …@sha256:<digest>.',
      },
    );
  }
  const host = await createApiInt(client).host();
  if (host === undefined) {
    throw new SluiceError('NotFound', 'the cluster does not say by which name its registries are reached', {
      next: `Look at status.apiServerInternalURI of the Infrastructure object "cluster", or name the release by image: --to-image …@${digest}.`,
    });
  }
  const { registryPort } = names(client.platform);
  const image = `${hostPort(host, registryPort)}/openshift/release-images@${digest}`;
  return { digest, image, ...(words.to === undefined ? {} : { version: words.to }) };
}

/** The UpdatePreflight that people and updates share for a release, with these risks accepted in it. */
export async function sharePreflight(
  client: KubeClient,
  release: NamedRelease,
  options: {
    readonly accept?: readonly string[];
    /** Why they are accepted. */
    readonly reason?: string;
    readonly runID?: string;
    readonly timeout?: string;
  } = {},
): Promise<UpdatePreflight> {
  const kind = client.kinds.UpdatePreflight;
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const name = implicitName(release.digest);
  const annotations = options.runID === undefined ? {} : { [runAnnotations.request]: options.runID };
  const timeout = options.timeout === undefined ? {} : { timeout: options.timeout };
  const accepted = (before: UpdatePreflight['spec']['acceptedRisks'] = []) => {
    const known = new Set(before.map((risk) => risk.name));
    const more = (options.accept ?? []).filter((risk) => !known.has(risk));
    return [
      ...before,
      ...more.map((risk) => ({ name: risk, reason: options.reason ?? 'accepted on the command line' })),
    ];
  };
  const standing = await client.tryGet(kind, name, namespace);
  if (standing === undefined) {
    const { image, version } = release;
    const spec = { image, ...(version === undefined ? {} : { version }), ...timeout };
    const risks = accepted();
    try {
      return await client.create(kind, {
        metadata: { name, namespace, annotations },
        spec: risks.length === 0 ? spec : { ...spec, acceptedRisks: risks },
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return await sharePreflight(client, release, options); // The update controller was faster.
    }
  }
  const risks = accepted(standing.spec.acceptedRisks);
  const spec = { ...timeout, ...(risks.length === 0 ? {} : { acceptedRisks: risks }) };
  return await client.patch(kind, name, { metadata: { annotations }, spec }, { namespace });
}

/**
 * Asks for a run, or joins the one that is in flight for the same release.
 *
 * @returns the object, and the id by which the run is known; `joined` where it was in flight already.
 */
export async function requestRun(
  client: KubeClient,
  release: NamedRelease,
  options: { readonly accept?: readonly string[]; readonly timeout?: string } = {},
): Promise<{ readonly object: UpdatePreflight; readonly runID: string; readonly joined: boolean }> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const before = await client.tryGet(client.kinds.UpdatePreflight, implicitName(release.digest), namespace);
  const flying = before?.status?.verdict === 'Running' ? before.status.runID : undefined;
  const runID = flying ?? runIDOf(randomBytes(runIDBytes));
  const object = await sharePreflight(client, release, {
    ...options,
    ...(flying === undefined ? { runID } : {}),
  });
  return { object, runID, joined: flying !== undefined };
}

/**
 * Asks for a run in an object of its own, beside the one that people and updates share: whoever asks takes the object
 * away again. The same risks are accepted in it, so that it is judged as the shared one would be.
 */
export async function requestOwnRun(
  client: KubeClient,
  { digest, image, version }: NamedRelease,
): Promise<{ readonly object: UpdatePreflight; readonly runID: string; readonly joined: false }> {
  const kind = client.kinds.UpdatePreflight;
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const runID = runIDOf(randomBytes(runIDBytes));
  const { acceptedRisks = [] } = (await client.tryGet(kind, implicitName(digest), namespace))?.spec ?? {};
  const object = await client.create(kind, {
    metadata: { name: `dry-run-${runID}`, namespace, annotations: { [runAnnotations.request]: runID } },
    spec: {
      image,
      ...(version === undefined ? {} : { version }),
      ...(acceptedRisks.length === 0 ? {} : { acceptedRisks }),
    },
  });
  return { object, runID, joined: false };
}

/** A risk that somebody takes, as UpdatePreflight.spec.acceptedRisks holds it. */
export interface AcceptedRisk {
  name: string;
  reason?: string;
}

/**
 * The accepted risks after these words: `A` adds, `A-` takes back. Errors: Usage, where words contradict each other.
 */
export function acceptedAfter(
  before: readonly AcceptedRisk[],
  given: readonly string[],
  options: { readonly reason?: string; readonly replace?: boolean; readonly clear?: boolean },
): AcceptedRisk[] {
  const words = given.flatMap((word) => word.split(',')).filter((word) => word !== '');
  if (options.clear === true && words.length > 0) throw new SluiceError('Usage', '--clear takes no names');
  if (options.clear === true) return [];
  if (words.length === 0) throw new SluiceError('Usage', 'which risks? Give their names, or --clear');
  const removed = new Set(words.filter((word) => word.endsWith('-')).map((word) => word.slice(0, -1)));
  const added = words.filter((word) => !word.endsWith('-'));
  const both = added.find((name) => removed.has(name));
  if (both !== undefined) throw new SluiceError('Usage', `${both} is taken and taken back at once`);
  for (const name of [...added, ...removed]) {
    if (!isFindingName(name)) {
      throw new SluiceError('Usage', `"${name}" is no name of a risk`, {
        next: 'Names are printed in the column CHECK of the report: sluice preflight show.',
      });
    }
  }
  const kept = options.replace === true ? [] : before.filter((risk) => !removed.has(risk.name));
  const known = new Set(kept.map((risk) => risk.name));
  const fresh = [...new Set(added)].filter((name) => !known.has(name));
  const reason = options.reason === undefined ? {} : { reason: options.reason };
  return [...kept, ...fresh.map((name) => ({ name, ...reason }))];
}
