import type { Digest } from '../oci/digest.ts';

/** An operating system image as a deployment knows it. */
export interface OsDeployment {
  /** The image by digest, as the update asked for it. */
  readonly image: string;
  readonly digest: Digest;
  readonly version?: string;
}

export interface OsStatus {
  readonly booted?: OsDeployment;
  readonly staged?: OsDeployment;
}

/** What an operating system must be able to do for an update. Each command's own file implements it. */
export interface OsDriver {
  readonly name: 'simulated' | 'rpm-ostree' | 'bootc';
  /** Whether `finalize` reboots the machine that this runs on: then its inhibitors and its users count. */
  readonly rebootsHost: boolean;
  status(): Promise<OsStatus>;
  /** Downloads and stages the image, held: a reboot for another reason does not boot it. */
  stage(image: string, digest: Digest): Promise<void>;
  /** Unlocks exactly this deployment and reboots into it. Errors: Conflict where another one is staged. */
  finalize(digest: Digest): Promise<void>;
}
