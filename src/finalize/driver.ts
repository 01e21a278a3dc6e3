import type { Digest } from '../oci/digest.ts';

/** An operating system image as a deployment knows it. */
export interface OsDeployment {
  /** The image by digest, or `ostree@sha256:<checksum>` for a commit without an image. */
  readonly image: string;
  /** Of the image's manifest, or the checksum of the commit: what the driver's own command compares. */
  readonly digest: Digest;
  readonly version?: string;
}

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
  readonly name: 'simulated' | 'rpm-ostree' | 'bootc';
  /** Whether `finalize` reboots the machine that this runs on: then its inhibitors and its users count. */
  readonly rebootsHost: boolean;
  status(): Promise<OsStatus>;
  /** Downloads and stages the image, held: a reboot for another reason does not boot it. */
  stage(image: string, digest: Digest, options?: { readonly allowDowngrade?: boolean }): Promise<void>;
  /**
   * Unlocks exactly this deployment and reboots into it. Errors: Conflict where another one is staged, Blocked where
   * something holds the reboot for now.
   */
  finalize(digest: Digest): Promise<void>;
}
