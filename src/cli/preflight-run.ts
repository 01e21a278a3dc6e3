import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor } from '../kube/wait.ts';
import { type NamedRelease, requestOwnRun, requestRun } from '../preflight/request.ts';
import { terminationSignal } from '../process/parent.ts';
import { leave } from './leave.ts';
import { note } from './output.ts';
import { createStepView, stepOf } from './upgrade-progress.ts';

/** Milliseconds that a controller has to take up a run before that is told. */
const takeUpMs = 30_000;
const runMs = 35 * 60_000;

/**
 * Runs a preflight, or joins the one that is in flight for the same release, and tells its progress on standard
 * error. Resolves with the finished report; with undefined where the person has left (Ctrl-C), who is told what goes on.
 * Errors: Timeout.
 *
 * @param options.leavesNothing the run has an object of its own, which is gone afterwards: the report that others see
 *   stays as it is.
 */
export async function runPreflight(
  client: KubeClient,
  release: NamedRelease,
  options: {
    readonly accept?: readonly string[];
    readonly timeout?: string;
    readonly leavesNothing?: boolean;
  } = {},
): Promise<UpdatePreflight | undefined> {
  const signal = terminationSignal();
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.UpdatePreflight;
  const { leavesNothing = false } = options;
  const { object, runID, joined } = leavesNothing
    ? await requestOwnRun(client, release)
    : await requestRun(client, release, options);
  if (joined) note(`a run for this release is in flight (${runID}): it is joined`);
  const { name } = object.metadata;
  const isOurs = (each: UpdatePreflight | undefined) =>
    each?.status?.runID === runID || each?.status?.history?.some((run) => run.runID === runID) === true;
  const isTakenUp = (each: UpdatePreflight | undefined) =>
    isOurs(each) || each?.status?.verdict === 'Running';
  const view = createStepView();
  let finished: UpdatePreflight | undefined;
  try {
    await waitFor(client, kind, name, isTakenUp, {
      namespace,
      timeoutMs: takeUpMs,
      signal,
      what: `the controller to take up the preflight ${name} (does it run? sluice controller)`,
    });
    finished = await waitFor(client, kind, name, (each) => tellProgress(each), {
      namespace,
      timeoutMs: runMs,
      signal,
      what: `the preflight ${name} to end`,
      describe: (each) => (each as UpdatePreflight | undefined)?.status?.message ?? 'it is gone',
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    if (leavesNothing) leave('the checks are given up, and leave nothing', []);
    else
      leave(`the preflight ${name} goes on by itself; it changes nothing`, [
        `see what it found: sluice preflight show ${name}`,
      ]);
    return undefined;
  } finally {
    view.end();
    if (leavesNothing) await removeOwnRun(client, name);
  }
  if (finished === undefined)
    throw new SluiceError('NotFound', `the preflight ${name} was deleted while it ran`, {
      next: `Run it again: sluice preflight run${release.version === undefined ? '' : ` --to ${release.version}`}.`,
    });
  return finished;

  function tellProgress(each: UpdatePreflight | undefined): boolean {
    // A run that somebody else began a moment ago may stand before ours.
    if (each?.status?.verdict !== 'Running') return each === undefined || isOurs(each);
    view.show(stepOf('preflight', each.status.message ?? ''));
    return false;
  }
}

/** Takes the object of a run away that was to leave nothing; its finalizer removes the Jobs. */
async function removeOwnRun(client: KubeClient, name: string): Promise<void> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  await client.delete(client.kinds.UpdatePreflight, name, { namespace }).catch((error: unknown) => {
    note(`warning: the report ${name} could not be removed: ${messageOf(error)}`);
    note(`  next: kubectl delete updatepreflight ${name} --namespace ${namespace}`);
  });
}
