import type { ClusterVersion, ClusterVersionStatusDesired, UpdatePreflight } from '../api/resources.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import type { UnverifiedTarget, VerifiedTarget } from '../gates/facts.ts';
import { type Finding, type Judgement, judge } from '../gates/finding.ts';
import { evaluateGates } from '../gates/gates.ts';
import { digestPart, gatherFacts, sourceOf } from '../gates/gather.ts';
import { known } from '../gates/known.ts';
import { readRequest, type UpdateRequest } from '../gates/request.ts';
import {
  type BundleClaim,
  findRelease,
  type Release,
  type Releases,
  targetFact,
  unverifiedFact,
} from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Background } from './background.ts';
import type { RequestView } from './conditions.ts';
import { ensurePreflight, type ImplicitPreflight } from './implicit.ts';
import { refusalOf } from './refusal.ts';

/** What the request in spec leads to. */
export type RequestOutcome =
  | { readonly act: 'stay'; readonly view: RequestView }
  | {
      readonly act: 'accept';
      readonly release: Release;
      readonly judged: Judgement;
      readonly findings: readonly Finding[];
      /** Names of risks that are accepted. */
      readonly accepted: ReadonlySet<string>;
      readonly force: boolean;
      readonly preflight: UpdatePreflight | undefined;
    };

export interface RequestContext {
  readonly client: KubeClient;
  readonly releases: Releases;
  readonly claims: readonly BundleClaim[];
  readonly available: readonly ClusterVersionStatusDesired[];
  readonly now: number;
  readonly random: (bytes: number) => Uint8Array;
  /** Reads the release that is asked for, beside everything else. */
  readonly reading: Background<{ release: Release; target: VerifiedTarget }>;
}

/**
 * Looks at what spec asks for: the request itself, then every gate, so that all that stands against it is told at
 * once. Nothing is remembered between two calls: while it is refused it is looked at anew each time.
 */
export async function judgeRequest(
  context: RequestContext,
  clusterVersion: ClusterVersion,
): Promise<RequestOutcome> {
  const { status, spec } = clusterVersion;
  const request = readRequest(spec.desiredUpdate, {
    available: context.available,
    history: (status?.history ?? []).map(({ version, image }) => ({ version: version ?? '', image })),
  });
  switch (request.kind) {
    case 'none':
      return stay({ state: 'none' });
    case 'invalid':
      return stay({ state: 'invalid', message: request.message });
    case 'release':
      if (request.digest === digestPart(status?.desired.image ?? '')) return stay({ state: 'none' });
      return await judgeRelease(context, clusterVersion, request);
  }
}

type ReleaseRequest = Extract<UpdateRequest, { kind: 'release' }>;

async function judgeRelease(
  context: RequestContext,
  clusterVersion: ClusterVersion,
  request: ReleaseRequest,
): Promise<RequestOutcome> {
  const { client, releases, claims, now } = context;
  let release: Release | undefined;
  let target: VerifiedTarget | UnverifiedTarget;
  const wish = request.version === undefined ? {} : { version: request.version };
  const reading = await context.reading.of(`${request.digest} ${request.version ?? ''}`, async () => {
    const found = await findRelease(releases, claims, { digest: request.digest, ...wish });
    return { release: found, target: targetFact(found, await releases.contents(found)) };
  });
  if (reading.state === 'pending') {
    const message = `Retrieving and verifying payload version="${request.version ?? ''}" image="${request.image}"`;
    return stay({ state: 'refused', waiting: true, pending: true, reason: 'RetrievePayload', message });
  }
  if (reading.state === 'done') ({ release, target } = reading.value);
  else {
    const { error } = reading;
    if (isSluiceError(error, 'InputInvalid')) {
      return stay({
        state: 'refused',
        waiting: false,
        pending: false,
        reason: 'VerifyPayloadVersion',
        message: messageOf(error),
      });
    }
    release = undefined;
    target = unverifiedFact(error);
  }
  const source = sourceOf(clusterVersion);
  const preflight: ImplicitPreflight =
    release === undefined
      ? { report: known(undefined), accepted: [] }
      : await ensurePreflight(client, release, { now, source, target }, context.random);
  const facts = await gatherFacts(client, clusterVersion, {
    purpose: 'update',
    now,
    target,
    preflight: preflight.report,
  });
  const names = (clusterVersion.spec.desiredUpdate?.acceptRisks ?? []).map((risk) => risk.name);
  const accepted = new Set([...preflight.accepted, ...names]);
  const { force } = request;
  const findings = evaluateGates(facts);
  const judged = judge(findings, { accepted, force });
  const name = { version: release?.version ?? request.version ?? '', image: release?.image ?? request.image };
  if (release === undefined || judged.blocking.length > 0) return stay(refusalOf(judged, name));
  if (request.lookOnly) {
    const message = `nothing stands against ${name.version}; only its preflight was asked for (mode Preflight)`;
    return stay({ state: 'refused', waiting: true, pending: false, reason: 'PreflightOnly', message });
  }
  return { act: 'accept', release, judged, findings, accepted, force, preflight: preflight.object };
}

function stay(view: RequestView): RequestOutcome {
  return { act: 'stay', view };
}
