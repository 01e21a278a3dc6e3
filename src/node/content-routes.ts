import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { Attachment } from './attachments.ts';
import { bytesLeftOut } from './deltas.ts';
import type { NodeRoutes } from './socket.ts';
import type { ContentNodeStatus } from './status.ts';

/** What the node's socket offers for content: see it, attach and detach media. */
export function contentRoutes(manager: {
  readonly nodeName: string;
  attach(path: string): Promise<Attachment>;
  detach(what: string): Promise<Attachment>;
  status(): ContentNodeStatus;
  missingBytes(bundle: Digest): number | undefined;
}): NodeRoutes {
  const { nodeName, missingBytes } = manager;
  const holds = (bundle: Digest) =>
    manager.status().store?.some(({ bundleDigest }) => bundleDigest === bundle) === true;
  const answerOf = (attachment: Attachment) =>
    attachmentAnswer(nodeName, attachment, { holds, missingBytes });
  return {
    'GET /v1/content': async () => ({ node: nodeName, ...manager.status() }),
    'POST /v1/media': async (body) => answerOf(await manager.attach(textField(body, 'path'))),
    'DELETE /v1/media': async (body) => answerOf(await manager.detach(textField(body, 'media'))),
  };
}

/** What a worker answers there. */
export function noContentRoutes(nodeName: string): NodeRoutes {
  const refuse = async (): Promise<never> => {
    throw new SluiceError('Conflict', `${nodeName} is a worker and keeps no content`, {
      next: 'Do it on a control-plane node: from there every node is served.',
    });
  };
  return {
    'GET /v1/content': async () => ({ node: nodeName }),
    'POST /v1/media': refuse,
    'DELETE /v1/media': refuse,
  };
}

/** A bundle on media, as the socket tells it. */
type AttachedAnswer =
  | {
      readonly name: string;
      readonly verified: true;
      readonly version: string;
      readonly bundleDigest: string;
      readonly payload: string;
      readonly signedBy: { readonly id: string; readonly name: string };
      /** Whether the store of this node has all of it already; absent from nodes of earlier versions. */
      readonly held?: boolean;
      /** Present where the media leave out what earlier releases have. */
      readonly delta?: {
        readonly needs: readonly string[];
        readonly bytes: number;
        /** Of these, bytes that this node does not have. */
        readonly missingBytes: number;
      };
    }
  | { readonly name: string; readonly verified: false; readonly reason: string; readonly message: string };

export interface AttachmentAnswer {
  readonly node: string;
  readonly path: string;
  readonly format: string | undefined;
  readonly bundles: readonly AttachedAnswer[];
}

function attachmentAnswer(
  node: string,
  attachment: Attachment,
  store: {
    readonly holds: (bundle: Digest) => boolean;
    readonly missingBytes: (bundle: Digest) => number | undefined;
  },
): AttachmentAnswer {
  const { path, format, bundles } = attachment;
  return {
    node,
    path,
    format,
    bundles: bundles.map((each): AttachedAnswer => {
      if (each.state === 'Refused') {
        return { name: each.name, verified: false, reason: each.reason, message: each.message };
      }
      const { digest, document, signedBy } = each.bundle;
      const { version, payload } = document;
      const known = {
        name: each.name,
        verified: true,
        version,
        bundleDigest: digest,
        payload,
        signedBy,
        held: store.holds(digest),
      } as const;
      if (each.delta === undefined) return known;
      const bytes = bytesLeftOut(each.delta);
      const needs = each.delta.since.map((base) => base.name);
      return { ...known, delta: { needs, bytes, missingBytes: store.missingBytes(digest) ?? bytes } };
    }),
  };
}

function textField(body: unknown, field: string): string {
  const value = (body as Record<string, unknown> | null | undefined)?.[field];
  if (typeof value === 'string' && value !== '') return value;
  throw new SluiceError('InputInvalid', `the request needs "${field}"`);
}
