import { randomBytes } from 'node:crypto';
import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { implicitName, runAnnotations, runIDBytes, runIDOf } from '../gates/run-request.ts';
import { newestFirst } from '../gates/version.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { waitFor } from '../kube/wait.ts';
import { parseReference } from '../oci/reference.ts';
import { knownBundles } from '../release/content.ts';
import { note } from './output.ts';

/** A release as a command names it: resolved to the digest of its payload. */
export interface NamedRelease {
  readonly digest: string;
  readonly image: string;
  readonly version?: string;
}

/**
 * The release that the words of a command mean, among the bundles that nodes hold or have on media.
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
    throw new SluiceError('NotFound', `no bundle at hand holds the version ${words.to}; ${known} at hand`, {
      next: 'Attach media that carry it: sluice media attach PATH --node NODE.',
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
  const { apiInt, registryPort } = names(client.platform);
  const image = `${apiInt}:${registryPort}/openshift/release-images@${digest}`;
  return { digest, image, ...(words.to === undefined ? {} : { version: words.to }) };
}

/** The UpdatePreflight that commands and updates share for a release, with these risks accepted in it. */
export async function sharePreflight(
  client: KubeClient,
  release: NamedRelease,
  options: { readonly accept?: readonly string[]; readonly runID?: string; readonly timeout?: string } = {},
): Promise<UpdatePreflight> {
  const kind = client.kinds.UpdatePreflight;
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const name = implicitName(release.digest);
  const annotations = options.runID === undefined ? {} : { [runAnnotations.request]: options.runID };
  const timeout = options.timeout === undefined ? {} : { timeout: options.timeout };
  const accepted = (before: UpdatePreflight['spec']['acceptedRisks'] = []) => {
    const known = new Set(before.map((risk) => risk.name));
    const more = (options.accept ?? []).filter((risk) => !known.has(risk));
    return [...before, ...more.map((risk) => ({ name: risk, reason: 'accepted on the command line' }))];
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

/** Milliseconds that a controller has to take up a run before that is told. */
const takeUpMs = 30_000;
const runMs = 35 * 60_000;

/**
 * Runs a preflight, or joins the one that is in flight for the same release, and tells its progress on standard
 * error. Resolves with the finished report. Errors: Timeout.
 */
export async function runPreflight(
  client: KubeClient,
  release: NamedRelease,
  options: { readonly accept?: readonly string[]; readonly timeout?: string } = {},
): Promise<UpdatePreflight> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.UpdatePreflight;
  const before = await client.tryGet(kind, implicitName(release.digest), namespace);
  const joins = before?.status?.verdict === 'Running' ? before.status.runID : undefined;
  const runID = joins ?? runIDOf(randomBytes(runIDBytes));
  if (joins !== undefined) note(`a run for this release is in flight (${joins}): it is joined`);
  const { accept = [], timeout } = options;
  const object = await sharePreflight(client, release, {
    accept,
    ...(joins === undefined ? { runID } : {}),
    ...(timeout === undefined ? {} : { timeout }),
  });
  const { name } = object.metadata;
  const isOurs = (each: UpdatePreflight | undefined) =>
    each?.status?.runID === runID || each?.status?.history?.some((run) => run.runID === runID) === true;
  const isTakenUp = (each: UpdatePreflight | undefined) =>
    isOurs(each) || each?.status?.verdict === 'Running';
  await waitFor(client, kind, name, isTakenUp, {
    namespace,
    timeoutMs: takeUpMs,
    what: `the controller to take up the preflight ${name} (does it run? sluice controller)`,
  });
  let told = '';
  const finished = await waitFor(client, kind, name, (each) => tellProgress(each), {
    namespace,
    timeoutMs: runMs,
    what: `the preflight ${name} to end`,
    describe: (each) => (each as UpdatePreflight | undefined)?.status?.message ?? 'it is gone',
  });
  if (finished === undefined)
    throw new SluiceError('NotFound', `the preflight ${name} was deleted while it ran`);
  return finished;

  function tellProgress(each: UpdatePreflight | undefined): boolean {
    // A run that somebody else began a moment ago may stand before ours.
    if (each?.status?.verdict !== 'Running') return each === undefined || isOurs(each);
    const message = each.status.message ?? '';
    if (message !== told) note(`preflight: ${message}`);
    told = message;
    return false;
  }
}
