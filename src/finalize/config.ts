import type { WeeklyWindow } from './weekly.ts';

/** Directories of drop-ins; a later one wins for an equal file name (docs/decisions/0005). */
export const configDirectories = [
  '/usr/lib/zincati/config.d',
  '/run/zincati/config.d',
  '/etc/zincati/config.d',
  '/usr/lib/sluice/config.d',
  '/run/sluice/config.d',
  '/etc/sluice/config.d',
] as const;

export const strategyNames = ['immediate', 'periodic', 'fleet_lock', 'marker_file'] as const;
export type StrategyName = (typeof strategyNames)[number];

/** `auto`: stages and finalizes. `stage`: never reboots. `finalize-only`: reboots into what somebody else staged. */
export const modes = ['auto', 'stage', 'finalize-only'] as const;
export type Mode = (typeof modes)[number];

/** What a node's configuration asks for. Durations are milliseconds. */
export interface FinalizeConfig {
  enabled: boolean;
  mode: Mode;
  allowDowngrade: boolean;
  /** All of them must allow. */
  strategies: readonly StrategyName[];
  marker: {
    path: string;
    allowWithoutExpiry: boolean;
    /** The marker opens a closed window of the strategy `periodic` (updates.marker = "override"). */
    overridesWindow: boolean;
  };
  periodic: { timeZone: string; windows: readonly WeeklyWindow[]; jitterMs: number };
  /** `minReadyMs`: how long this node must run after an update before its slot goes back. */
  fleetLock: { baseUrl: string; minReadyMs: number; secretFile?: string };
  identity: { group: string; nodeUuid?: string; rolloutWariness?: number; stream?: string };
  /** Where a host without a cluster learns of updates; '' nowhere. */
  cincinnati: { baseUrl: string; allowHttp: boolean };
  steadyIntervalMs: number;
  /** A person has declared the clock right (agent.clock = "trusted"). */
  clockTrusted: boolean;
  blockers: {
    /** A `block-weak` inhibitor holds as `block` does. */
    blockWeak: boolean;
    hooksDirectory: string;
    hookTimeoutMs: number;
    /** A host younger than this, in its first boot, is still being set up. */
    firstBootMs: number;
  };
}

/** One key that a file sets, the last of those for it that were read. */
export interface ConfigValue {
  readonly key: string;
  readonly value: unknown;
  readonly path: string;
  /** From 1; 0 where it is not known. */
  readonly line: number;
}

/** The configuration and everything about it that a person must be told. */
export interface LoadedConfig {
  readonly config: FinalizeConfig;
  /** Which file says what. */
  readonly values: readonly ConfigValue[];
  /** What makes it unusable: then nothing is finalized. File and line are named. */
  readonly problems: readonly string[];
  /** What was read and has no effect: unknown keys, ignored files. */
  readonly warnings: readonly string[];
}

export const defaultConfig: FinalizeConfig = {
  enabled: true,
  mode: 'auto',
  allowDowngrade: false,
  strategies: ['immediate'],
  marker: {
    path: '/var/lib/sluice/allowfinalize.json',
    allowWithoutExpiry: false,
    overridesWindow: false,
  },
  periodic: { timeZone: 'UTC', windows: [], jitterMs: 600_000 },
  fleetLock: { baseUrl: '', minReadyMs: 0 },
  identity: { group: 'default' },
  cincinnati: { baseUrl: '', allowHttp: false },
  steadyIntervalMs: 300_000,
  clockTrusted: false,
  blockers: {
    blockWeak: false,
    hooksDirectory: '/etc/sluice/hooks.d',
    hookTimeoutMs: 30_000,
    firstBootMs: 300_000,
  },
};
