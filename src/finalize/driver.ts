import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';

/** An operating system image as a deployment knows it. */
export interface OsDeployment {
  /** The image by digest, or `ostree@sha256:<checksum>` for a commit without an image. */
  readonly image: string;
  /** Of the image's manifest, or the checksum of the commit: what the driver's own command compares. */
  readonly digest: Digest;
  readonly version?: string;
}

/** Of deployments that are no images; the checksum of a commit stands where an image's digest would. */
export const commitImage = 'ostree';

/** What is known of an order to reboot. */
export type OrderOutcome =
  | { readonly kind: 'ordered' }
  /** No answer came: the reboot may be under way, and only the next boot, or none, tells. */
  | { readonly kind: 'unknown'; readonly message: string };

export interface OsStatus {
  readonly booted?: OsDeployment;
  readonly staged?: OsDeployment;
  /** Deployments that are kept: what was booted before, and what was rolled back from. */
  readonly others?: readonly OsDeployment[];
  /** The update stream that the booted image belongs to, where it says so. */
  readonly stream?: string;
}

/** What an operating system must be able to do for an update. Each command's own file implements it. */
export interface OsDriver {
  readonly name: 'simulated' | 'rpm-ostree' | 'bootc' | 'none';
  /** Whether `finalize` reboots the machine that this runs on: then its inhibitors and its users count. */
  readonly rebootsHost: boolean;
  status(): Promise<OsStatus>;
  /** Downloads and stages the image, held: a reboot for another reason does not boot it. */
  stage(image: string, digest: Digest, options?: { readonly allowDowngrade?: boolean }): Promise<void>;
  /**
   * Unlocks exactly this deployment and reboots into it. Errors, where the order was surely not taken: Conflict where
   * another one is staged, Blocked where something holds the reboot for now.
   */
  finalize(digest: Digest): Promise<OrderOutcome>;
}

/** `host/repository` of an image, without tag and digest. */
export function originOf(image: string): string {
  const { host, repository } = parseReference(image);
  return `${host}/${repository}`;
}

/**
 * An update graph may name the next image of the origin that the host follows, and no other one: the origin says whose
 * signature is asked for, and that is a person's decision. Errors: Conflict.
 */
export function requireSameOrigin(image: string, booted: OsDeployment | undefined): void {
  const follows = booted?.image.split('@')[0] ?? 'nothing';
  if (originOf(image) === follows) return;
  throw new SluiceError(
    'Conflict',
    `the update graph names ${originOf(image)}, but this host follows ${follows}`,
    {
      next: 'Rebase the host by hand where that is meant (rpm-ostree rebase, bootc switch); it goes on from there.',
    },
  );
}
