import type { Job } from '../api/core.ts';
import { annotations } from '../api/names.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { checkImages, isCheck } from '../gates/check-set.ts';
import { findingName } from '../gates/finding.ts';
import type { Payload, PayloadManifest } from '../payload/payload.ts';

/** A check that a release ships. */
export interface ReleaseCheck {
  /** The Job manifest's own name: what SLUICE_CHECK and the label carry. Unique in a release. */
  readonly check: string;
  /** The same as findings must have it: 'network-config' → 'NetworkConfig'. */
  readonly name: string;
  readonly component: string;
  readonly manifest: Job;
}

export interface ReleaseChecks {
  readonly checks: readonly ReleaseCheck[];
  /** Components that bring an operator and no check of its readiness. */
  readonly without: readonly string[];
  /** Manifests that claim to be checks and cannot be run, in words. */
  readonly unreadable: readonly {
    readonly component: string;
    readonly name: string;
    readonly message: string;
  }[];
}

/**
 * The checks of a release: its Job manifests annotated as such. They are told apart by their own annotation, not by
 * the inclusion rules of the update, since a controller that does not know them must leave them out.
 */
export function releaseChecks(payload: Payload, document?: BundleDocument): ReleaseChecks {
  const checks: ReleaseCheck[] = [];
  const add = (check: ReleaseCheck, trouble: string | undefined, where: string) => {
    const { component, name } = check;
    if (trouble !== undefined) unreadable.push({ component, name, message: `${where}: ${trouble}` });
    else checks.push(check);
    seen.add(check.check);
  };
  const unreadable: ReleaseChecks['unreadable'][number][] = [];
  const seen = new Set<string>();
  for (const manifest of payload.manifests) {
    if (!isCheck(manifest)) continue;
    const { object } = manifest;
    const check = object.metadata.name;
    add(
      {
        check,
        name: checkName(check),
        component: componentOf(manifest),
        manifest: object as unknown as Job,
      },
      troubleOf(manifest, seen),
      manifest.file,
    );
  }
  for (const image of document === undefined ? [] : checkImages(document)) {
    // An image outside the payload is named by its repository, of which the last part says what it is.
    const component = image.name.slice(image.name.lastIndexOf('/') + 1);
    const check = component.toLowerCase().replace(/[^a-z0-9-]+/g, '-');
    add(
      { check, name: checkName(check), component, manifest: imageJob(check, image) },
      nameTrouble(check, seen),
      `check image ${image.name}`,
    );
  }
  const checked = new Set([...checks, ...unreadable].map((each) => each.component));
  const operators = payload.manifests.filter((manifest) => manifest.object.kind === 'ClusterOperator');
  const without = [...new Set(operators.map(componentOf))]
    .filter((component) => !checked.has(component))
    .sort();
  return { checks, without, unreadable };
}

/** 'network-config' → 'NetworkConfig'. */
function checkName(check: string): string {
  return findingName(check.replace(/(?:^|[-.])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()));
}

/** A check that a bundle brings for an operator outside the payload: the image alone says what is run. */
function imageJob(check: string, image: BundleDocument['images'][number]): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: check, annotations: { [annotations.preflightCheck]: 'true' } },
    spec: {
      template: { spec: { containers: [{ name: 'check', image: `${image.source}@${image.digest}` }] } },
    },
  };
}

function componentOf(manifest: PayloadManifest): string {
  return manifest.component === undefined || manifest.component === '' ? 'release' : manifest.component;
}

function troubleOf({ object }: PayloadManifest, seen: ReadonlySet<string>): string | undefined {
  if (object.kind !== 'Job' || object.apiVersion !== 'batch/v1') {
    return `a check must be a Job of batch/v1, not a ${object.kind} of ${object.apiVersion}`;
  }
  const trouble = nameTrouble(object.metadata.name, seen);
  if (trouble !== undefined) return trouble;
  const job = object as unknown as Partial<Job>;
  if (!Array.isArray(job.spec?.template?.spec?.containers)) return 'it has no pod template with containers';
  return undefined;
}

function nameTrouble(name: string, seen: ReadonlySet<string>): string | undefined {
  if (!/^[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?$/.test(name)) {
    return `its name "${name}" is no lower-case name of at most 47 characters`;
  }
  return seen.has(name) ? `a second check has the name ${name}` : undefined;
}
