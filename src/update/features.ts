import type { KubeObject } from '../api/core.ts';
import type { KubeClient } from '../kube/client.ts';

/** What of optional features a cluster has switched on. */
export interface Features {
  /** The active feature set: `Default` where none is set. */
  readonly set: string;
  readonly gates: ReadonlySet<string>;
}

export const noFeatures: Features = { set: 'Default', gates: new Set() };

/** Feature sets that this program knows; any other word in an annotation excludes. */
export const featureSets: readonly string[] = [
  'Default',
  'TechPreviewNoUpgrade',
  'DevPreviewNoUpgrade',
  'CustomNoUpgrade',
  'LatencySensitive',
  'OKD',
];

interface FeatureGate extends KubeObject {
  spec?: { featureSet?: string; customNoUpgrade?: { enabled?: string[]; disabled?: string[] } };
  status?: { featureGates?: { version: string; enabled?: { name: string }[] }[] };
}

/**
 * Reads FeatureGate `cluster` where the API serves it. What is enabled is what its status says of the version that is
 * applied, else of the newest that it speaks about.
 */
export async function readFeatures(client: KubeClient, version: string): Promise<Features> {
  const kind = await client.resolveKind('config.openshift.io/v1', 'FeatureGate');
  if (kind === undefined) return noFeatures;
  const object = (await client.tryGet(kind, 'cluster')) as FeatureGate | undefined;
  return object === undefined ? noFeatures : featuresOf(object, version);
}

export function featuresOf(
  { spec, status }: Pick<FeatureGate, 'spec' | 'status'>,
  version: string,
): Features {
  const told = status?.featureGates ?? [];
  const entry = told.find((each) => each.version === version) ?? told[0];
  const enabled = (entry?.enabled ?? []).map(({ name }) => name);
  const set = spec?.featureSet;
  const custom = set === 'CustomNoUpgrade' ? (spec?.customNoUpgrade?.enabled ?? []) : [];
  return {
    set: set === undefined || set === '' ? 'Default' : set,
    gates: new Set([...enabled, ...custom]),
  };
}
