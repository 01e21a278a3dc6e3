import type { KindName } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { releaseHolder } from '../lock/release.ts';
import { askNode, nodeSocketPath } from '../node/socket.ts';
import {
  acceptedAfter,
  type NamedRelease,
  nameRelease,
  requestRun,
  sharePreflight,
} from '../preflight/request.ts';
import { knownBundles } from '../release/content.ts';
import { setPaused } from '../release/pause.ts';
import { giveUpRelease, requestRelease } from '../release/request.ts';
import { closeWindow, openWindow } from '../rollout/window.ts';
import { desireUpdate, withdrawUpdate } from '../update/desire.ts';
import type { ActionName } from './answers.ts';
import type { Body } from './body.ts';

/** What an action is carried out with: the cluster under the person's own identity. */
export interface ActionContext {
  readonly client: KubeClient;
  /** Directory of the nodes of this machine (`<node>/run/node.sock`); undefined where there are none. */
  readonly nodesDirectory: string | undefined;
}

/** The right without which an action is refused by the cluster; asked for in advance, so that its button tells. */
export interface Need {
  readonly verb: 'create' | 'patch' | 'delete';
  readonly kind: KindName;
}

interface Action {
  readonly needs: readonly Need[];
  /** Whether it works on the nodes of this machine only. */
  readonly local?: true;
  readonly run: (context: ActionContext, body: Body) => Promise<object>;
}

/** Every button of the console: the same code as the command that does the same. */
export const actions: Readonly<Record<ActionName, Action>> = {
  addRelease: {
    needs: [{ verb: 'patch', kind: 'InternalReleaseImage' }],
    async run({ client }, body) {
      const held = (await knownBundles(client)).filter((each) => each.heldBy.length > 0);
      const asked = await requestRelease(
        client,
        body.text('name'),
        held.map((each) => each.name),
      );
      return { changed: asked };
    },
  },
  removeRelease: {
    needs: [{ verb: 'patch', kind: 'InternalReleaseImage' }],
    async run({ client }, body) {
      await giveUpRelease(client, body.text('name'));
      return { changed: true };
    },
  },
  pauseRelease: {
    needs: [{ verb: 'patch', kind: 'InternalReleaseImage' }],
    run: async ({ client }, body) => ({
      changed: await setPaused(client, body.text('name'), body.flag('paused')),
    }),
  },
  runPreflight: {
    needs: [
      { verb: 'create', kind: 'UpdatePreflight' },
      { verb: 'patch', kind: 'UpdatePreflight' },
    ],
    async run({ client }, body) {
      const { object, runID, joined } = await requestRun(client, await releaseOf(client, body));
      return { name: object.metadata.name, runID, joined };
    },
  },
  acceptRisk: {
    needs: [{ verb: 'patch', kind: 'UpdatePreflight' }],
    run: (context, body) => changeAccepted(context, body, body.text('risk'), body.text('reason')),
  },
  withdrawRisk: {
    needs: [{ verb: 'patch', kind: 'UpdatePreflight' }],
    run: (context, body) => changeAccepted(context, body, `${body.text('risk')}-`, undefined),
  },
  startUpdate: {
    needs: [{ verb: 'patch', kind: 'ClusterVersion' }],
    async run({ client }, body) {
      const release = await releaseOf(client, body);
      const force = body.flag('force');
      if (force && body.optionalText('typedVersion') !== release.version) {
        throw new SluiceError('InputInvalid', 'to force an update, its version is typed once more');
      }
      const version = await desireUpdate(client, release, { force });
      return { generation: version.metadata.generation };
    },
  },
  withdrawUpdate: {
    needs: [{ verb: 'patch', kind: 'ClusterVersion' }],
    async run({ client }) {
      const version = await withdrawUpdate(client);
      return { generation: version.metadata.generation };
    },
  },
  openWindow: {
    needs: [{ verb: 'patch', kind: 'NodeUpdate' }],
    async run({ client }, body) {
      const notAfter = body.text('notAfter');
      if (!(Date.parse(notAfter) > Date.now())) {
        throw new SluiceError('InputInvalid', `the window would end at ${notAfter}, which is past`);
      }
      const release = body.optionalText('release');
      const window = {
        notAfter,
        once: body.flag('once'),
        ...(release === undefined ? {} : { release }),
      };
      return await eachNode(body.texts('nodes'), (node) => openWindow(client, node, window));
    },
  },
  closeWindow: {
    needs: [{ verb: 'patch', kind: 'NodeUpdate' }],
    run: ({ client }, body) => eachNode(body.texts('nodes'), (node) => closeWindow(client, node)),
  },
  releaseLock: {
    needs: [{ verb: 'patch', kind: 'FleetLockGroup' }],
    async run({ client }, body) {
      const outcome = await releaseHolder(client, body.text('group'), body.text('holder'));
      if (outcome === 'no-group') throw new SluiceError('NotFound', 'there is no such group');
      return { changed: outcome === 'released' };
    },
  },
  // Whoever may let a node reboot may show it a disk: only what a trusted key signed is read from it.
  attachMedia: {
    needs: [{ verb: 'patch', kind: 'NodeUpdate' }],
    local: true,
    run: (context, body) => askNode(socketOf(context, body), 'POST /v1/media', { path: body.text('path') }),
  },
  detachMedia: {
    needs: [{ verb: 'patch', kind: 'NodeUpdate' }],
    local: true,
    run: (context, body) =>
      askNode(socketOf(context, body), 'DELETE /v1/media', { media: body.text('media') }),
  },
};

/** The action of a name. Errors: NotFound. */
export function actionOf(name: string): Action {
  const found = Object.hasOwn(actions, name) ? actions[name as ActionName] : undefined;
  if (found === undefined) throw new SluiceError('NotFound', `there is no action ${name.slice(0, 100)}`);
  return found;
}

async function releaseOf(client: KubeClient, body: Body): Promise<NamedRelease> {
  const [to, image] = [body.optionalText('version'), body.optionalText('image')];
  return await nameRelease(client, {
    ...(to === undefined ? {} : { to }),
    ...(image === undefined ? {} : { image }),
  });
}

async function changeAccepted(
  { client }: ActionContext,
  body: Body,
  word: string,
  reason: string | undefined,
): Promise<object> {
  const object = await sharePreflight(client, await releaseOf(client, body));
  const words = reason === undefined ? {} : { reason };
  const risks = acceptedAfter(object.spec.acceptedRisks ?? [], [word], words);
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const patch = { spec: { acceptedRisks: risks.length === 0 ? null : risks } };
  await client.patch(client.kinds.UpdatePreflight, object.metadata.name, patch, { namespace });
  return { accepted: risks.map((risk) => risk.name) };
}

/** Nodes that are written at once. */
const nodesAtOnce = 8;

/** Does it for every node, also where one is refused, and tells which were. Errors: that of the first. */
async function eachNode(
  nodes: readonly string[],
  act: (node: string) => Promise<void>,
): Promise<{ done: readonly string[] }> {
  if (nodes.length === 0) throw new SluiceError('InputInvalid', 'no node is named');
  const done: string[] = [];
  const failures: unknown[] = [];
  const queue = [...nodes];
  const work = async () => {
    for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
      try {
        await act(node);
        done.push(node);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: nodesAtOnce }, work));
  if (failures.length > 0) throw failures[0];
  return { done: done.sort() };
}

function socketOf({ nodesDirectory }: ActionContext, body: Body): string {
  const node = body.text('node');
  if (nodesDirectory === undefined) {
    throw new SluiceError('NotFound', 'this console runs on another machine than the nodes', {
      next: 'Attach the media on the machine of the node: sluice media attach PATH.',
    });
  }
  if (!/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(node)) {
    throw new SluiceError('InputInvalid', 'that is no name of a node');
  }
  return nodeSocketPath(`${nodesDirectory}/${node}/run`);
}
