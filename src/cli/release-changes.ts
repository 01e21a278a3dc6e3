import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock } from '../observe/clock.ts';
import { terminationSignal } from '../process/parent.ts';
import { readCredentials, rotateCredentials } from '../release/credentials.ts';
import { setPaused } from '../release/pause.ts';
import { giveUpRelease } from '../release/request.ts';

import { leave } from './leave.ts';
import { note } from './output.ts';
import { controlPlane, gather, type Options, resolveName } from './release-actions.ts';
import type { ReleaseFacts } from './release-view.ts';

const lookMs = 500;

export async function pause(client: KubeClient, text = '', _options?: Options): Promise<void> {
  const facts = await gather(client);
  const name = resolveName(text, facts);
  const news = await setPaused(client, name, true);
  note(news ? `copies of ${name} stand still now` : `copies of ${name} were paused already`);
  // Who copies is told some seconds late; who holds it whole is certain.
  if (isHeldByAll(facts, name, await controlPlane(client)))
    note('  every node holds it already; one that comes to it later waits until resume');
  note(`  next: sluice release resume ${text}`);
}

function isHeldByAll({ bundles }: ReleaseFacts, name: string, nodes: readonly string[]): boolean {
  const held = bundles.find((each) => each.name === name)?.heldBy ?? [];
  return nodes.length > 0 && nodes.every((node) => held.includes(node));
}

function isCopying(update: NodeUpdate, name: string): boolean {
  return update.status?.copies?.some((copy) => copy.release === name) === true;
}

export async function resume(client: KubeClient, text = '', _options?: Options): Promise<void> {
  const name = resolveName(text, await gather(client));
  const news = await setPaused(client, name, false);
  note(news ? `copies of ${name} go on where they stopped` : `copies of ${name} were not paused`);
}

export async function cancel(client: KubeClient, text = '', options: Options): Promise<void> {
  const facts = await gather(client);
  const name = resolveName(text, facts);
  if (isHeldByAll(facts, name, await controlPlane(client))) {
    throw new SluiceError('Conflict', `${name} is copied already, to every node`, {
      next: `To remove it: sluice release rm ${text}`,
    });
  }
  await giveUpRelease(client, name);
  const ended = await until(
    options.timeoutMs,
    `${name} is given up, and its copies have not ended yet`,
    async () => {
      const { items } = await client.list(client.kinds.NodeUpdate);
      return !items.some((update) => isCopying(update, name));
    },
  );
  if (!ended) return leave(`${name} is given up, and the nodes end its copies`, []);
  note(`${name} is given up; the nodes free what had come of it`);
}

export async function rotate(client: KubeClient, _: string | undefined, options: Options): Promise<void> {
  const begun = await rotateCredentials(client);
  note(begun ? 'a new password goes round' : 'a new password goes round already');
  if (options.wait === false) return;
  const ended = await until(options.timeoutMs, 'not every node accepts the new password yet', async () => {
    const credentials = await readCredentials(client);
    return credentials !== undefined && credentials.next === undefined;
  });
  if (!ended)
    return leave('the new password goes round without you', [
      'see where it stands: sluice release credentials rotate',
    ]);
  note('every node accepts the new password, and clients are told to use it');
}

/** Answers false where a person stopped watching. Errors: Timeout. */
async function until(
  timeoutMs: number | undefined,
  message: string,
  done: () => Promise<boolean>,
): Promise<boolean> {
  const endsAt = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
  const signal = terminationSignal();
  while (!(await done())) {
    if (signal.aborted) return false;
    if (Date.now() > endsAt) throw new SluiceError('Timeout', message);
    await systemClock.sleep(lookMs, signal).catch(() => {});
  }
  return true;
}
