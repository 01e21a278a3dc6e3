import { isIP } from 'node:net';
import type { Condition, Node } from '../api/core.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { findCondition } from './conditions.ts';
import type { CopyReport, NodeReport, ReleaseReport } from './report.ts';

/** A MachineConfigNode, as far as releases are concerned. */
export interface MachineConfigNodeView {
  readonly status?:
    | {
        readonly conditions?: Condition[] | undefined;
        readonly internalReleaseImage?:
          | {
              readonly releases: readonly {
                readonly name: string;
                readonly image?: string | undefined;
                readonly conditions?: Condition[] | undefined;
              }[];
            }
          | undefined;
      }
    | undefined;
}

/** A NodeUpdate, as far as releases are concerned. */
export interface NodeUpdateView {
  readonly status?:
    | {
        readonly media?:
          | readonly (BundleFacts & {
              readonly verified?: boolean | undefined;
              readonly delta?: { readonly since: readonly { readonly name: string }[] } | undefined;
            })[]
          | undefined;
        readonly store?: readonly BundleFacts[] | undefined;
        readonly copies?:
          | readonly {
              readonly release: string;
              readonly state?: string | undefined;
              readonly bytesDone?: number | undefined;
              readonly bytesTotal?: number | undefined;
              readonly message?: string | undefined;
            }[]
          | undefined;
      }
    | undefined;
}

interface BundleFacts {
  readonly name?: string | undefined;
  readonly bundleDigest?: string | undefined;
  readonly payload?: string | undefined;
}

/** Reason with which a node says that its own registry does not answer: its content is what it last was. */
export const registryUnreachable = 'RegistryUnreachable';

/**
 * The address that registries are dialled at: the first InternalIP. A node writes it itself and the API server takes
 * any text; others make names of files and URLs of it, so what is no IP address is none.
 */
export function addressOf(node: Node): string | undefined {
  const address = node.status?.addresses?.find((each) => each.type === 'InternalIP')?.address;
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

/**
 * What one node says of its releases. NodeUpdate holds the node's own verified record and decides; a node that
 * only has a MachineConfigNode (openshift's own daemon) is read from its conditions.
 *
 * @param ping why the node's registry did not answer the controller; undefined where it did.
 */
export function nodeReport(of: {
  readonly node: Node;
  readonly machineConfigNode: MachineConfigNodeView | undefined;
  readonly nodeUpdate: NodeUpdateView | undefined;
  readonly ping: string | undefined;
}): NodeReport {
  const { node, machineConfigNode, nodeUpdate } = of;
  const own = findCondition(machineConfigNode?.status?.conditions, 'InternalReleaseImageDegraded');
  const saysUnreachable = own?.status === 'True' && own.reason === registryUnreachable;
  const names = new Set<string>();
  for (const each of machineConfigNode?.status?.internalReleaseImage?.releases ?? []) names.add(each.name);
  for (const each of nodeUpdate?.status?.store ?? []) if (each.name !== undefined) names.add(each.name);
  for (const each of nodeUpdate?.status?.media ?? []) {
    if (each.verified === true && each.name !== undefined) names.add(each.name);
  }
  for (const each of nodeUpdate?.status?.copies ?? []) names.add(each.release);
  return {
    name: node.metadata.name,
    ready: node.status?.conditions?.find((each) => each.type === 'Ready')?.status === 'True',
    registryReachable: !saysUnreachable && of.ping === undefined,
    releases: [...names].sort().map((name) => releaseReport(name, machineConfigNode, nodeUpdate)),
  };
}

function releaseReport(
  name: string,
  machineConfigNode: MachineConfigNodeView | undefined,
  nodeUpdate: NodeUpdateView | undefined,
): ReleaseReport {
  const shown = machineConfigNode?.status?.internalReleaseImage?.releases.find((each) => each.name === name);
  const stored = nodeUpdate?.status?.store?.find((each) => each.name === name);
  const mounted = nodeUpdate?.status?.media?.find((each) => each.name === name && each.verified === true);
  const facts = [stored, mounted];
  const degraded = findCondition(shown?.conditions, 'Degraded');
  const problem =
    degraded?.status === 'True' && degraded.reason !== registryUnreachable
      ? { reason: degraded.reason, message: degraded.message }
      : undefined;
  return {
    name,
    bundle: facts.flatMap((each) => digestOrNone(each?.bundleDigest))[0],
    payload: [...facts.map((each) => each?.payload), shown?.image?.split('@')[1]].flatMap(digestOrNone)[0],
    held:
      nodeUpdate?.status?.store !== undefined ? stored !== undefined : heldByConditions(shown?.conditions),
    mounted:
      nodeUpdate?.status?.media !== undefined
        ? mounted !== undefined
        : findCondition(shown?.conditions, 'Mounted')?.status === 'True',
    ...(mounted?.delta === undefined ? {} : { deltaSince: mounted.delta.since.map((base) => base.name) }),
    removing: findCondition(shown?.conditions, 'Removing')?.status === 'True',
    copy: copyReport(name, nodeUpdate),
    problem,
  };
}

/** A registry that does not answer says nothing about the bytes on the disk. */
function heldByConditions(conditions: readonly Condition[] | undefined): boolean | undefined {
  const available = findCondition(conditions, 'Available');
  if (available === undefined) return false;
  if (available.status === 'True') return true;
  if (available.status === 'Unknown' || available.reason === registryUnreachable) return undefined;
  return false;
}

function copyReport(name: string, nodeUpdate: NodeUpdateView | undefined): CopyReport | undefined {
  const copy = nodeUpdate?.status?.copies?.find((each) => each.release === name);
  if (copy === undefined) return undefined;
  const state = (['Copying', 'Verifying', 'Paused', 'Failed'] as const).find((each) => each === copy.state);
  return {
    state: state ?? 'Copying',
    bytesDone: copy.bytesDone ?? 0,
    bytesTotal: copy.bytesTotal ?? 0,
    message: copy.message,
  };
}

function digestOrNone(text: string | undefined): Digest[] {
  return text !== undefined && isDigest(text) ? [text] : [];
}
