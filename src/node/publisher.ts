import { isDeepStrictEqual } from 'node:util';
import type { Condition, KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { MachineConfigNode } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import { createWritePace, progressWaits, type Waits } from '../release/write-pace.ts';
import { asSeen, withoutMessages, withoutProgress } from './progress-words.ts';
import {
  type ContentNodeStatus,
  type ContentState,
  machineConfigNodeContent,
  nodeUpdateStatus,
  withCondition,
} from './status.ts';

/** Progress stands in NodeUpdate; where only the words about it change in MachineConfigNode, they follow this often. */
const messagesWaits: Waits = { afterNews: 60_000, afterProgress: 60_000 };

export interface Publisher {
  /** Writes what has changed since the last call. Errors: those of the client; a later call writes it all. */
  publish(state: ContentState): Promise<void>;
}

/**
 * Writes one node's words into NodeUpdate and MachineConfigNode. Only its own fields are sent, so that what
 * others write into the same objects stands; the same words are not sent twice to the same object. What has changed is
 * sent at once, but progress alone is paced.
 */
export function createPublisher(
  client: KubeClient,
  nodeName: string,
  registryPort: number,
  clock: Clock,
): Publisher {
  const { kinds } = client;
  let sent: { readonly seen: string; readonly news: string; readonly uid: string | undefined } | undefined;
  let standing: MachineConfigNode | undefined;

  /** Whether it is the object that was written to, and not one that came after somebody deleted that. */
  async function isStill<T extends KubeObject>(kind: KindRef<T>, uid: string | undefined): Promise<boolean> {
    return (await client.get(kind, nodeName)).metadata.uid === uid;
  }

  const updatePace = createWritePace(progressWaits, clock);
  const nodePace = createWritePace(messagesWaits, clock);

  async function publishNodeUpdate(status: ContentNodeStatus): Promise<void> {
    const seen = JSON.stringify(asSeen(status));
    const news = JSON.stringify(withoutProgress(status));
    if (seen === sent?.seen && (await isStill(kinds.NodeUpdate, sent.uid))) return;
    if (seen !== sent?.seen && !updatePace.isDue(news !== sent?.news)) return;
    const { metadata } = await client.patch(
      kinds.NodeUpdate,
      nodeName,
      { status },
      { subresource: 'status' },
    );
    sent = { seen, news, uid: metadata.uid };
  }

  async function publishMachineConfigNode(state: ContentState): Promise<void> {
    standing ??= await client.get(kinds.MachineConfigNode, nodeName);
    const before = standing.status;
    const content = machineConfigNodeContent(
      state,
      {
        conditions: before?.conditions ?? [],
        releases: before?.internalReleaseImage?.releases ?? [],
      },
      registryPort,
      clock.now(),
    );
    const conditions: Condition[] = withCondition(before?.conditions, content.degraded);
    // The schema allows no empty list: without any release the whole part goes (null in RFC 7396).
    const releases = content.releases.length === 0 ? null : { releases: content.releases };
    const after = { conditions, internalReleaseImage: releases };
    const stands = {
      conditions: before?.conditions ?? [],
      internalReleaseImage: before?.internalReleaseImage ?? null,
    };
    // Whoever stores them may order keys in his own way.
    const same = isDeepStrictEqual(after, stands);
    const { resourceVersion, uid } = standing.metadata;
    if (same && (await isStill(kinds.MachineConfigNode, uid))) return;
    const news = !isDeepStrictEqual(withoutMessages(after), withoutMessages(stands));
    if (!same && !nodePace.isDue(news)) return;
    try {
      standing = await client.patch(
        kinds.MachineConfigNode,
        nodeName,
        { metadata: { resourceVersion }, status: after },
        { subresource: 'status' },
      );
    } catch (error) {
      nodePace.forget();
      standing = undefined; // Read it again: somebody else has written, or it is another object now.
      if (!isConflict(error)) throw error;
      await publishMachineConfigNode(state);
    }
  }

  return {
    async publish(state) {
      try {
        await publishNodeUpdate(nodeUpdateStatus(state));
        await publishMachineConfigNode(state);
      } catch (error) {
        sent = undefined;
        standing = undefined;
        updatePace.forget();
        nodePace.forget();
        throw error;
      }
    },
  };
}
