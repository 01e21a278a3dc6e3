import { annotations as names } from '../api/names.ts';
import type { ClusterVersionSpecOverride } from '../api/resources.ts';
import type { PayloadManifest } from '../payload/payload.ts';
import { inclusionPrefix } from '../payload/profile.ts';
import { type Features, featureSets } from './features.ts';

/** What of a payload this cluster takes. */
export interface InclusionRule {
  /** `self-managed-high-availability`, `single-node-developer`, … */
  readonly profile: string;
  /** The id by which manifests may exclude themselves; '' for none. */
  readonly excludeID: string;
  /** Major version of the payload. */
  readonly major: string;
  readonly features: Features;
  /** Whether an optional component is enabled. */
  readonly isEnabled: (capability: string) => boolean;
  readonly overrides: readonly ClusterVersionSpecOverride[];
}

/** What is done with an object of a payload. */
export type Inclusion =
  | { readonly act: 'apply'; readonly createOnly: boolean }
  | { readonly act: 'delete' }
  | { readonly act: 'exclude'; readonly why: string };

const prefix = 'release.openshift.io/';

/**
 * Whether and how an object of a payload is applied, by its annotations and the cluster's overrides.
 * What an annotation says in a way that is not known excludes: better an object that is missing than a wrong one.
 */
export function inclusionOf(manifest: PayloadManifest, rule: InclusionRule): Inclusion {
  const given = manifest.object.metadata.annotations ?? {};
  const why =
    excludedByProfile(given, rule) ??
    excludedByFeatures(given, rule) ??
    excludedByCapability(given, rule) ??
    excludedByOverride(manifest, rule);
  if (why !== undefined) return { act: 'exclude', why };
  const deletion = given[`${prefix}delete`];
  if (deletion === 'true') return { act: 'delete' };
  if (deletion !== undefined) return { act: 'exclude', why: `${prefix}delete is "${deletion}", not "true"` };
  return { act: 'apply', createOnly: given[`${prefix}create-only`] === 'true' };
}

type Annotations = Readonly<Record<string, string>>;

function excludedByProfile(given: Annotations, rule: InclusionRule): string | undefined {
  if (given[names.preflightCheck] === 'true') return 'it is a preflight check';
  if (Object.keys(given).length === 0) return 'it has no annotations';
  if (rule.excludeID !== '' && given[`exclude.${prefix}${rule.excludeID}`] === 'true') {
    return `it excludes itself from ${rule.excludeID}`;
  }
  const included = given[`${inclusionPrefix}${rule.profile}`] === 'true';
  return included ? undefined : `it is not of the profile ${rule.profile}`;
}

function excludedByFeatures(given: Annotations, { features, major }: InclusionRule): string | undefined {
  const set = given[`${prefix}feature-set`];
  const gates = given[`${prefix}feature-gate`];
  if (set !== undefined && gates !== undefined) return 'it names a feature set and feature gates';
  if (set !== undefined) {
    const foreign = list(set).find((each) => !featureSets.includes(each));
    if (foreign !== undefined) return `the feature set ${foreign} is not known`;
    if (!list(set).includes(features.set)) return `it is of the feature set ${set}`;
  }
  const missing = list(gates ?? '').find((gate) =>
    gate.startsWith('-') ? features.gates.has(gate.slice(1)) : !features.gates.has(gate),
  );
  if (missing !== undefined) return `it needs the feature gate ${missing}`;
  const majors = given[`${prefix}major-version`];
  return majors === undefined ? undefined : excludedByMajor(list(majors), major);
}

function excludedByMajor(wanted: readonly string[], major: string): string | undefined {
  const text = wanted.join(',');
  if (!wanted.every((each) => /^-?\d+$/.test(each))) return `${prefix}major-version is "${text}"`;
  if (wanted.includes(`-${major}`)) return `it is not for major version ${major}`;
  const positive = wanted.filter((each) => !each.startsWith('-'));
  return positive.length > 0 && !positive.includes(major) ? `it is for major version ${text}` : undefined;
}

function excludedByCapability(given: Annotations, { isEnabled }: InclusionRule): string | undefined {
  const wanted = given[`capability.openshift.io/name`];
  if (wanted === undefined) return undefined;
  const missing = wanted.split('+').filter((name) => !isEnabled(name));
  return missing.length === 0 ? undefined : `the capability ${missing.join(', ')} is not enabled`;
}

function excludedByOverride({ object }: PayloadManifest, { overrides }: InclusionRule): string | undefined {
  const group = object.apiVersion.includes('/')
    ? object.apiVersion.slice(0, object.apiVersion.indexOf('/'))
    : '';
  const match = overrides.find(
    (override) =>
      override.unmanaged &&
      override.group === group &&
      override.kind === object.kind &&
      override.namespace === (object.metadata.namespace ?? '') &&
      override.name === object.metadata.name,
  );
  return match === undefined ? undefined : 'spec.overrides takes it out of management';
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
