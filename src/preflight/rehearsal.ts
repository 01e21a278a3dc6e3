import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnyObject, ConfigMap, Draft, Job, Pod } from '../api/core.ts';
import { renderCrds } from '../api/crds.ts';
import { annotations, labels, names } from '../api/names.ts';
import { ensureServiceAccountKey, serverNames } from '../apiserver/pki.ts';
import { startApiServer } from '../apiserver/server.ts';
import type { ImageSource } from '../build/source.ts';
import { imageOf } from '../build/source.ts';
import { SluiceError } from '../errors/error.ts';
import { type CheckOutcome, checkOutcome } from '../gates/check.ts';
import { applyObject } from '../kube/apply.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import { createAuthority, issue, type KeyPair } from '../trust/authority.ts';
import { createKubelet } from '../workload/kubelet.ts';
import { readLog } from '../workload/logs.ts';
import type { Runner } from '../workload/runner.ts';
import { grantsFor, parseExtraReads } from './grant.ts';
import { serveImage } from './image-server.ts';
import { jobName, type RunContext, renderJob } from './job.ts';
import { createJob, observeCheck } from './jobs.ts';
import { type LoadProblem, loadRecorded } from './recorded.ts';

export interface RehearsalOptions {
  /** An empty directory for everything; the caller removes it. */
  readonly dir: string;
  readonly image: ImageSource;
  /** The check's Job as its manifest has it; without it the image alone is run. */
  readonly manifest?: Job;
  /** Recorded objects of a cluster, which the check will see. */
  readonly objects: readonly AnyObject[];
  /** File name → text of what it finds in /release-manifests. */
  readonly releaseManifests: Readonly<Record<string, string>>;
  /** Rights and namespaces as they are shipped. */
  readonly deployed: readonly AnyObject[];
  readonly source: RunContext['source'];
  readonly target: Omit<RunContext['target'], 'image'>;
  readonly timeoutMs: number;
  /** Runs the container. */
  readonly runner: Runner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Rehearsal {
  readonly check: string;
  readonly outcome: CheckOutcome;
  /** What it wrote, the result document included. */
  readonly output: string;
  /** What of the recorded objects could not be shown to it. */
  readonly problems: readonly LoadProblem[];
}

/** No node of the recorded cluster has this name, so that none of its Pods is run. */
const nodeName = 'sluice-try';
const runID = 'try0';
const imageHost = 'try.sluice.internal';
const pollMs = 200;
const slackMs = 10_000;
const outputBytesMax = 4 * 1024 * 1024;

/**
 * Runs one check against recorded objects, as a preflight would: the same API, rights, Pod, limits and reading of the
 * answer; only that the cluster is not there. Nothing of what was recorded acts.
 *
 * Errors: Forbidden (the manifest exceeds what a check may), those of the image and the API.
 */
export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const authority = await createAuthority('sluice-try');
  const stop = new AbortController();
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const digest = await imageOf(options.image, 'the check');
    const { client, port } = await startApi(options, authority, closing);
    for (const object of options.deployed) await applyObject(client, object);
    const problems = await loadRecorded(client, options.objects);
    const registry = await serveImage(options.image, authority, options.logger);
    closing.push(() => registry.close(0));
    const registryPort = registry.port;
    const pod = await createCheck(client, options, { digest, authority, registryPort });
    const kubelet = await startKubelet(options, {
      client,
      authority,
      port,
      registryPort,
      signal: stop.signal,
    });
    const running = kubelet.run();
    closing.push(async () => {
      stop.abort();
      await running;
      await kubelet.end(1000);
      await kubelet.close();
    });
    return { ...(await watch(client, options, pod)), problems };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function startApi(options: RehearsalOptions, authority: KeyPair, closing: (() => Promise<unknown>)[]) {
  const dir = join(options.dir, 'apiserver');
  await mkdir(dir, { recursive: true });
  const server = await issue(authority, {
    commonName: 'kube-apiserver',
    dnsNames: serverNames,
    ipAddresses: ['127.0.0.1'],
    usage: 'both',
  });
  const api = await startApiServer({
    dataDir: dir,
    address: '127.0.0.1',
    port: 0,
    tls: { cert: server.certPem, key: server.keyPem },
    clientCaPem: authority.certPem,
    serviceAccountKeyPem: await ensureServiceAccountKey(dir),
    crds: renderCrds('standalone'),
    logger: options.logger,
  });
  closing.push(() => api.close());
  const admin = await issue(authority, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const client = createKubeClient({
    server: api.url,
    tls: { ca: authority.certPem, cert: admin.certPem, key: admin.keyPem },
    platform: 'standalone',
  });
  closing.push(() => client.close());
  return { client, port: api.port };
}

interface Made {
  readonly digest: Digest;
  readonly authority: KeyPair;
  readonly registryPort: number;
}

/** The Pod that the check's Job would make; whether it may be run at all is decided as in a preflight. */
async function createCheck(client: KubeClient, options: RehearsalOptions, made: Made): Promise<Pod> {
  const { preflightNamespace: namespace, preflightServiceAccount } = names('standalone');
  const { kinds } = client;
  const manifest = manifestOf(options, made.digest);
  const check = manifest.metadata.name;
  const context: RunContext = {
    runID,
    platform: 'standalone',
    namespace,
    serviceAccount: preflightServiceAccount,
    timeoutMs: options.timeoutMs,
    source: options.source,
    target: { ...options.target, image: `${imageHost}/payload@${made.digest}` },
  };
  const reads = parseExtraReads(manifest.metadata.annotations?.[annotations.preflightReads]);
  const job = renderJob(manifest, check, context);
  await applyObject(client, mirrorsOf(made.registryPort));
  for (const [name, data] of [
    ['kube-root-ca.crt', { 'ca.crt': made.authority.certPem }],
    ['release-manifests', options.releaseManifests],
  ] as const) {
    const object: Draft<ConfigMap> = { metadata: { name, namespace }, data: { ...data } };
    await client.create(kinds.ConfigMap, object);
  }
  const refusal = await createJob(client, job, grantsFor(reads, { ...context, check }));
  if (refusal !== undefined) throw new SluiceError('Forbidden', refusal);
  const { spec } = job.spec.template;
  // There is no payload image: its manifests come from files.
  const { initContainers: _, volumes = [], ...pod } = spec;
  const manifests = { name: 'release-manifests', configMap: { name: 'release-manifests' } };
  return await client.create(kinds.Pod, {
    metadata: {
      name: `${jobName(check, runID)}-pod`,
      namespace,
      labels: job.spec.template.metadata?.labels ?? {},
    },
    spec: {
      ...pod,
      nodeName,
      volumes: [...volumes.filter((volume) => volume.name !== manifests.name), manifests],
    },
  });
}

function manifestOf({ manifest }: RehearsalOptions, digest: Digest): Job {
  const image = `${imageHost}/check@${digest}`;
  const given: Job = manifest ?? {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'check', annotations: { [annotations.preflightCheck]: 'true' } },
    spec: { template: { spec: { containers: [{ name: 'check' }] } } },
  };
  const { spec } = given.spec.template;
  // A manifest names its image by tag; a release names it by digest, and so does this.
  const containers = spec.containers.map((container) => ({ ...container, image }));
  return {
    ...given,
    spec: { ...given.spec, template: { ...given.spec.template, spec: { ...spec, containers } } },
  };
}

function mirrorsOf(port: number): AnyObject {
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ImageDigestMirrorSet',
    metadata: { name: 'try' },
    spec: {
      imageDigestMirrors: [
        { source: imageHost, mirrors: [`127.0.0.1:${port}`], mirrorSourcePolicy: 'NeverContactSource' },
      ],
    },
  } as unknown as AnyObject;
}

async function startKubelet(
  options: RehearsalOptions,
  given: { client: KubeClient; authority: KeyPair; port: number; registryPort: number; signal: AbortSignal },
) {
  const { authority } = given;
  const pair = await issue(authority, { commonName: 'kubelet', ipAddresses: ['127.0.0.1'], usage: 'server' });
  return await createKubelet({
    client: given.client,
    nodeName,
    address: '127.0.0.1',
    dir: join(options.dir, 'pods'),
    runner: options.runner,
    tls: { cert: pair.certPem, key: pair.keyPem },
    clientCa: authority.certPem,
    apiServer: { host: '127.0.0.1', port: given.port },
    registryPort: given.registryPort,
    registryTrust: () => ({ caPem: authority.certPem }),
    logger: options.logger,
    signal: given.signal,
  });
}

/** Follows the Pod until its answer is in, playing the Job's controller. */
async function watch(
  client: KubeClient,
  options: RehearsalOptions,
  made: Pod,
): Promise<{ check: string; outcome: CheckOutcome; output: string }> {
  const { clock, runner, signal } = options;
  const { name, namespace = '' } = made.metadata;
  const check = made.metadata.labels?.[labels.preflightCheck] ?? '';
  const deadline = clock.now() + options.timeoutMs + slackMs;
  const log = async () => Buffer.from(await outputOf(runner, made.metadata.uid ?? ''));
  const reader: KubeClient = { ...client, podLog: log };
  for (;;) {
    signal.throwIfAborted();
    const pod = await client.tryGet(client.kinds.Pod, name, namespace);
    const phase = pod?.status?.phase;
    const ended = phase === 'Succeeded' ? 'Complete' : phase === 'Failed' ? 'Failed' : undefined;
    const jobOf = jobName(check, runID);
    const job: Job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { ...made.metadata, name: jobOf },
      spec: { template: { spec: made.spec } },
      status: { conditions: ended === undefined ? [] : [{ type: ended, status: 'True' }] },
    };
    const objects = {
      jobs: new Map([[jobOf, job]]),
      pods: new Map([[check, pod === undefined ? [] : [pod]]]),
      events: [],
    };
    const outcome = checkOutcome(
      await observeCheck(reader, objects, {
        jobName: jobOf,
        identity: { runID, check, targetDigest: options.target.digest },
        now: clock.now(),
        deadline,
        jobWasSeen: true,
      }),
    );
    if (outcome.result !== 'Running') return { check, outcome, output: (await log()).toString('utf8') };
    await clock.sleep(pollMs, signal);
  }
}

async function outputOf(runner: Runner, podUid: string): Promise<string> {
  const container = (await runner.list()).find((each) => each.podUid === podUid);
  if (container === undefined) return '';
  const never = new AbortController().signal;
  let text = '';
  for await (const piece of readLog(container.logPath, { limitBytes: outputBytesMax }, () => false, never))
    text += piece;
  return text;
}
