import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { hostPort } from '../http/client.ts';
import { parseReference } from '../oci/reference.ts';
import type { ContentSource } from '../oci/source.ts';
import { addressOf } from '../release/reports.ts';

/** Where a node gets OS images from: always a registry of the control plane, which has verified what it serves. */
export interface PullHosts {
  /** Every registry that may be asked, `host:port`, in the order in which this node asks them. */
  all(): Promise<readonly string[]>;
  /** The first that has the image. Errors: InputInvalid where it is not named by digest; Unreachable where none has it. */
  holding(image: string): Promise<string>;
}

/**
 * The registries of the control plane by their nodes, sorted, and begun at another one on each worker, so that they
 * share the work. Pure.
 */
export function controlPlaneHosts(worker: string, nodes: readonly Node[], port: number): string[] {
  const hosts = nodes
    .filter(({ metadata }) => metadata.labels?.[labels.controlPlane] !== undefined)
    .flatMap((node) => addressOf(node) ?? [])
    .map((address) => hostPort(address, port))
    .sort();
  const sum = [...worker].reduce((all, letter) => all + (letter.codePointAt(0) ?? 0), 0);
  const first = hosts.length === 0 ? 0 : sum % hosts.length;
  return [...hosts.slice(first), ...hosts.slice(0, first)];
}

/** A control-plane node asks its own registry alone: what it boots is what it holds. */
export function ownHost(host: string): PullHosts {
  return { all: async () => [host], holding: async () => host };
}

/** @param hosts see `controlPlaneHosts`. @param open a registry by its `host:port`. */
export function anyHost(
  hosts: () => Promise<readonly string[]>,
  open: (host: string) => Pick<ContentSource, 'manifest'>,
): PullHosts {
  return {
    all: hosts,
    async holding(image) {
      const { repository, digest } = parseReference(image);
      if (digest === undefined) throw new SluiceError('InputInvalid', `${image} is not named by digest`);
      const refusals: string[] = [];
      for (const host of await hosts()) {
        try {
          if ((await open(host).manifest(repository, digest)) !== undefined) return host;
          refusals.push(`${host}: it is not there`);
        } catch (error) {
          refusals.push(`${host}: ${messageOf(error)}`);
        }
      }
      const tried = refusals.length === 0 ? 'no control-plane node is known' : refusals.join('; ');
      throw new SluiceError('Unreachable', `no registry of the control plane has ${image}: ${tried}`, {
        next: 'See sluice release ls, and on a control-plane node whether sluice-registry@… runs.',
      });
    },
  };
}
