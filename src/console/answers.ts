import type { Platform } from '../api/kinds.ts';

/** Every button of the console (actions.ts says what each does). */
export type ActionName =
  | 'addRelease'
  | 'removeRelease'
  | 'pauseRelease'
  | 'runPreflight'
  | 'acceptRisk'
  | 'withdrawRisk'
  | 'startUpdate'
  | 'withdrawUpdate'
  | 'openWindow'
  | 'closeWindow'
  | 'releaseLock'
  | 'attachMedia'
  | 'detachMedia';

/**
 * Whether a person may press a button, and what is missing: a right such as `patch nodeupdates.sluice.dev`, the
 * machine of the node (`elsewhere`), or an answer of the cluster, in its words.
 */
export type Right =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly lacks: 'right' | 'answer'; readonly what: string }
  | { readonly allowed: false; readonly lacks: 'machine' };

/** How somebody without a token gets in (`GET api/login`, the one answer that asks for no session). */
export interface LoginAnswer {
  /**
   * Links that are good for one login: `never` given; printed where the console is started, and only then (`start`);
   * or by `command`.
   */
  readonly links: 'never' | 'start' | 'command';
  /** The command as it can be typed on the machine of the console; only for who is there. */
  readonly command?: string;
}

/** What the page learns of its session (`GET api/session`, and the answer to a login). */
export interface SessionAnswer {
  /** The name by which the cluster knows the person. */
  readonly user: string;
  readonly by: 'token' | 'link';
  /** Sent back as the header `x-csrf-token` with everything that changes something. */
  readonly csrf: string;
  readonly expiresAt: string;
  /** Of Sluice. */
  readonly version: string;
  readonly platform: Platform;
  /** See `kindTable`. */
  readonly machineConfigOperatorServes: boolean;
  /** The server's clock, by which the page tells how old things are. */
  readonly now: string;
  readonly rights: Readonly<Record<ActionName, Right>>;
}

/** A bundle as a person looks into it (`GET api/bundles/<digest>`), read after its signature was verified. */
export interface BundleAnswer {
  /** Its identity. */
  readonly digest: string;
  readonly signedBy: { readonly id: string; readonly name: string };
  readonly document: {
    readonly name: string;
    readonly version: string;
    readonly arch: string;
    readonly previous: readonly string[];
    readonly payload: string;
    readonly os?: { readonly tag: string; readonly version?: string; readonly kernel?: string };
    readonly images: readonly {
      readonly name: string;
      readonly role: string;
      readonly digest: string;
      /** Bytes of everything that the image needs. */
      readonly closureBytes: number;
    }[];
  };
}

/** The versions and the ways between them (`GET api/graph`). */
export interface GraphAnswer {
  readonly graph: {
    readonly nodes: readonly { readonly version: string; readonly payload: string }[];
    /** Indexes of nodes: from, to. */
    readonly edges: readonly (readonly [number, number])[];
  };
  /** Bundles that cannot be used, in words. */
  readonly problems: readonly string[];
}
