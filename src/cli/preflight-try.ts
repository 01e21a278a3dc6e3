import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import type { Job } from '../api/core.ts';
import { SluiceError } from '../errors/error.ts';
import { counted } from '../observe/count.ts';
import { durationOption } from './connect.ts';
import { type Format, note, paint, print, printObject, renderTable } from './output.ts';

export interface TryOptions {
  readonly image: string;
  readonly cluster: string;
  readonly manifest?: string;
  readonly releaseManifests?: string;
  readonly from: string;
  readonly to: string;
  readonly kernel?: string;
  readonly osVersion?: string;
  readonly timeout: string;
}

/** Runs one check without a cluster and prints what came of it. @returns the exit code. */
export async function tryCheck(options: TryOptions, format: Format): Promise<0 | 3 | 5> {
  const { rehearse } = await import('../preflight/rehearsal.ts');
  const { readRecorded } = await import('../preflight/recorded.ts');
  const { shippedManifests } = await import('../install/manifests.ts');
  const { createSourceOpener } = await import('../build/source.ts');
  const { openRunner, probeRunner } = await import('../workload/probe.ts');
  const { silentLogger } = await import('../observe/log.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const { terminationSignal } = await import('../process/parent.ts');
  const objects = await readRecorded(options.cluster);
  note(
    `${counted(objects.length, 'recorded object is', 'recorded objects are')} read from ${options.cluster}`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'sluice-try-'));
  const sources = createSourceOpener(join(dir, 'scratch'));
  const runners = join(dir, 'containers');
  const runner = await openRunner(runners, await probeRunner(runners));
  if (runner.notIsolated.length > 0)
    note(`the ${runner.name} runner does not isolate: ${runner.notIsolated.join('; ')}`);
  try {
    const rehearsal = await rehearse({
      dir,
      image: await sources.open(options.image),
      ...(options.manifest === undefined ? {} : { manifest: await readJob(options.manifest) }),
      objects,
      releaseManifests: await readTexts(options.releaseManifests),
      deployed: shippedManifests('standalone').filter(
        (object) => !object.kind?.startsWith('ValidatingAdmission'),
      ),
      source: { version: options.from, digest: someDigest() },
      target: {
        version: options.to,
        digest: someDigest(),
        ...(options.kernel === undefined ? {} : { kernel: options.kernel }),
        ...(options.osVersion === undefined ? {} : { osVersion: options.osVersion }),
      },
      timeoutMs: durationOption(options.timeout),
      runner,
      clock: systemClock,
      logger: silentLogger,
      signal: terminationSignal(),
    });
    await printRehearsal(rehearsal, format);
    return exitOf(rehearsal.outcome);
  } finally {
    await runner.endAll(0);
    await runner.close();
    await sources.close();
    await rm(dir, { recursive: true, force: true });
  }
}

type Rehearsal = Awaited<ReturnType<typeof import('../preflight/rehearsal.ts').rehearse>>;

async function printRehearsal(
  { check, outcome, output, problems }: Rehearsal,
  format: Format,
): Promise<void> {
  for (const problem of problems) note(`not shown to the check: ${problem.object}: ${problem.message}`);
  if (output !== '') note(`--- what the check wrote\n${output.trimEnd()}\n---`);
  if (format === 'json' || format === 'yaml') return await printObject({ check, ...outcome }, format);
  const colour = outcome.result === 'Passed' ? 'green' : outcome.result === 'Risk' ? 'yellow' : 'red';
  print(`${paint(colour, outcome.result.toUpperCase())}: ${outcome.reason}: ${outcome.message}`);
  if (outcome.risks.length === 0) return;
  const rows = outcome.risks.map((risk) => [
    risk.name,
    risk.severity,
    risk.message,
    risk.next ?? '-',
    risk.objects.join(', '),
  ]);
  print(`\n${renderTable(['RISK', 'SEVERITY', 'MESSAGE', 'NEXT', 'OBJECTS'], rows)}`);
}

function exitOf(outcome: Rehearsal['outcome']): 0 | 3 | 5 {
  if (outcome.result === 'Passed') return 0;
  if (outcome.result !== 'Risk') return 5;
  return outcome.risks.some((risk) => risk.severity === 'blocking') ? 3 : 0;
}

async function readJob(file: string): Promise<Job> {
  const document = parseDocument(await readFile(file, 'utf8'));
  const [error] = document.errors;
  if (error !== undefined) throw new SluiceError('InputInvalid', `${file}: ${error.message}`);
  const job = document.toJS() as Job;
  if (job?.kind !== 'Job' || job.spec?.template?.spec?.containers === undefined) {
    throw new SluiceError('InputInvalid', `${file} holds no Job with a pod template`);
  }
  return job;
}

async function readTexts(directory: string | undefined): Promise<Record<string, string>> {
  if (directory === undefined) return {};
  const entries = await readdir(directory, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  return Object.fromEntries(
    await Promise.all(
      files.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const),
    ),
  );
}

/** There is no release: a digest that nothing has, so that an answer must really read it from its environment. */
function someDigest(): `sha256:${string}` {
  return `sha256:${randomBytes(32).toString('hex')}`;
}
