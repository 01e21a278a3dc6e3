/**
 * A preflight of a large release: 200 operators, of which 60 ship a check, ten checks at once, on the embedded API.
 * The checks take from 1 to 5 seconds each, played; what is measured is everything around them. Prints the total
 * beside the ideal schedule (the same checks in the same order on ten slots, nothing lost in between), and the size of
 * the UpdatePreflight as the API stores it. `--rounds N`, `--seconds N` (the longest check).
 */
import { parseArgs } from 'node:util';
import { names } from '../src/api/names.ts';
import type { UpdatePreflight } from '../src/api/resources.ts';
import { waitFor } from '../src/kube/wait.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { testRepository } from '../tests/bundles.ts';
import { framed } from '../tests/check-output.ts';
import { type ControlPlane, playJobs, startControlPlane } from '../tests/control-plane.ts';
import { keep, median, say } from './measure.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '5' } },
});
const rounds = Number(options.rounds);
const secondsMax = Number(options.seconds);
const operators = 200;
const checks = 60;
const parallel = 10;
const { clusterVersionNamespace: namespace } = names('standalone');

const component = (index: number) => `operator-${String(index).padStart(3, '0')}`;
/** From 1 second to the longest, evenly, in an order that is no schedule. */
const secondsOf = (index: number) => 1 + (((index * 7) % checks) / (checks - 1)) * (secondsMax - 1);

function manifestsOf(index: number): Record<string, string> {
  const operator = `apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata: {name: ${component(index)}}
status: {versions: [{name: operator, version: 0.0.1-snapshot}]}
`;
  const check = `apiVersion: batch/v1
kind: Job
metadata:
  name: ${component(index)}-check
  annotations: {openshift.io/preflight-check: "true"}
spec: {template: {spec: {containers: [{name: check, image: "${testRepository}/web"}]}}}
`;
  return { 'operator.yaml': operator, ...(index < checks ? { 'check.yaml': check } : {}) };
}

const manifests = Object.fromEntries(
  Array.from({ length: operators }, (_, index) => [component(index), manifestsOf(index)]),
);
const ideal = idealSeconds();

function idealSeconds(): number {
  const slots = Array.from({ length: parallel }, () => 0);
  for (let index = 0; index < checks; index += 1) {
    const first = slots.indexOf(Math.min(...slots));
    slots[first] = (slots[first] ?? 0) + secondsOf(index);
  }
  return Math.max(...slots);
}

async function round(plane: ControlPlane, index: number): Promise<{ seconds: number; bytes: number }> {
  const stop = new AbortController();
  const output = framed({ message: 'looked at its settings, its Pods and its nodes, and found nothing' });
  const jobs = playJobs(
    plane.client,
    (check) => {
      const seconds = secondsOf(Number(/operator-(\d+)-check/.exec(check)?.[1]));
      return { exitCode: 0, output, after: new Promise((resolve) => setTimeout(resolve, seconds * 1000)) };
    },
    stop.signal,
  );
  const controller = runPreflightController({ ...plane.options(stop.signal), client: jobs.client });
  const kind = plane.client.kinds.UpdatePreflight;
  const name = `round-${index}`;
  const began = performance.now();
  await plane.client.create(kind, { metadata: { name, namespace }, spec: { version: '1.1.0' } });
  const report = await waitFor(
    plane.client,
    kind,
    name,
    (object) => object?.status?.finishedAt !== undefined,
    {
      namespace,
      timeoutMs: 600_000,
      describe: (object) => JSON.stringify((object as UpdatePreflight | undefined)?.status?.message),
    },
  );
  const seconds = (performance.now() - began) / 1000;
  if (report?.status?.verdict !== 'Passed') throw new Error(`${report?.status?.message}`);
  await plane.client.delete(kind, name, { namespace });
  stop.abort();
  await Promise.all([controller, jobs.done]);
  return { seconds, bytes: Buffer.byteLength(JSON.stringify(report)) };
}

const plane = await startControlPlane([
  { version: '1.0.0' },
  { version: '1.1.0', previous: ['1.0.0'], manifests },
]);
try {
  await plane.hold('1.0.0');
  await plane.hold('1.1.0');
  await plane.runs('1.0.0');
  const found: { seconds: number; bytes: number }[] = [];
  for (let index = 0; index < rounds; index += 1) {
    const each = await round(plane, index);
    say(
      `round ${index + 1}: ${each.seconds.toFixed(1)} s, ${(each.seconds / ideal).toFixed(2)} of the ideal`,
    );
    found.push(each);
  }
  const seconds = median(found.map((each) => each.seconds));
  const bytes = Math.max(...found.map((each) => each.bytes));
  say(`${operators} operators, ${checks} checks, ${parallel} at once`);
  say(`ideal schedule   ${ideal.toFixed(1)} s`);
  say(
    `preflight        ${seconds.toFixed(1)} s   ${(seconds / ideal).toFixed(2)} of the ideal (at most 1.20)`,
  );
  say(`UpdatePreflight  ${bytes} bytes   (at most 16384)`);
  const rows = found.map((each) => ({ ...each, ofIdeal: each.seconds / ideal }));
  keep('preflight', { operators, checks, parallel, idealSeconds: ideal, rounds: rows, bytes });
  process.exitCode = seconds / ideal <= 1.2 && bytes <= 16_384 ? 0 : 1;
} finally {
  await plane.close();
}
