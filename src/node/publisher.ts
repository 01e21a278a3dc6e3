import type { Condition, KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { MachineConfigNode } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict } from '../kube/error.ts';
import {
  type ContentNodeStatus,
  type ContentState,
  machineConfigNodeContent,
  nodeUpdateStatus,
  withCondition,
} from './status.ts';
import { createWritePace, withoutMessages, withoutProgress } from './write-pace.ts';

/** Where only progress has moved it is said this often: an API that 3 nodes write to must not feel a copy. */
const progressMs = 6_000;
/** And where only the words about it have changed in MachineConfigNode, this often. */
const messagesMs = 60_000;

export interface Publisher {
  /** Writes what has changed since the last call. Errors: those of the client; a later call writes it all. */
  publish(state: ContentState, now: number): Promise<void>;
}

/**
 * Writes one node's words into NodeUpdate and MachineConfigNode. Only its own fields are sent, so that what
 * others write into the same objects stands; the same words are not sent twice to the same object.
 */
export function createPublisher(client: KubeClient, nodeName: string, registryPort: number): Publisher {
  const { kinds } = client;
  let sent: { readonly text: string; readonly uid: string | undefined } | undefined;
  let standing: MachineConfigNode | undefined;

  /** Whether it is the object that was written to, and not one that came after somebody deleted that. */
  async function isStill<T extends KubeObject>(kind: KindRef<T>, uid: string | undefined): Promise<boolean> {
    return (await client.get(kind, nodeName)).metadata.uid === uid;
  }

  const updatePace = createWritePace(progressMs);
  const nodePace = createWritePace(messagesMs);

  async function publishNodeUpdate(status: ContentNodeStatus, now: number): Promise<void> {
    const text = JSON.stringify(status);
    if (text === sent?.text && (await isStill(kinds.NodeUpdate, sent.uid))) return;
    if (text !== sent?.text && !updatePace.isDue(JSON.stringify(withoutProgress(status)), now)) return;
    const { metadata } = await client.patch(
      kinds.NodeUpdate,
      nodeName,
      { status },
      { subresource: 'status' },
    );
    sent = { text, uid: metadata.uid };
  }

  async function publishMachineConfigNode(state: ContentState, now: number): Promise<void> {
    standing ??= await client.get(kinds.MachineConfigNode, nodeName);
    const before = standing.status;
    const content = machineConfigNodeContent(
      state,
      {
        conditions: before?.conditions ?? [],
        releases: before?.internalReleaseImage?.releases ?? [],
      },
      registryPort,
      now,
    );
    const conditions: Condition[] = withCondition(before?.conditions, content.degraded);
    // The schema allows no empty list: without any release the whole part goes (null in RFC 7396).
    const releases = content.releases.length === 0 ? null : { releases: content.releases };
    const after = { conditions, internalReleaseImage: releases };
    const same =
      JSON.stringify(after) ===
      JSON.stringify({
        conditions: before?.conditions ?? [],
        internalReleaseImage: before?.internalReleaseImage ?? null,
      });
    const { resourceVersion, uid } = standing.metadata;
    if (same && (await isStill(kinds.MachineConfigNode, uid))) return;
    if (!same && !nodePace.isDue(JSON.stringify(withoutMessages(after)), now)) return;
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
      await publishMachineConfigNode(state, now);
    }
  }

  return {
    async publish(state, now) {
      try {
        await publishNodeUpdate(nodeUpdateStatus(state), now);
        await publishMachineConfigNode(state, now);
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
