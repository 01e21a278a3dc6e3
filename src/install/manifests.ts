import { parse, parseAllDocuments } from 'yaml';
import type { AnyObject } from '../api/core.ts';
import { renderCrds } from '../api/crds.ts';
import type { Platform } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import { shippedFiles, shippedText } from '../program/files.ts';
import { renderWhereServed } from './render.ts';

/** The definitions in `deploy/<platform>`, written by generate.ts for kubectl; here they are rendered anew. */
export const crdFile = 'crds.yaml';

const kustomizationFile = 'kustomization.yaml';
/** How kustomize is told which image is meant (`images:` entry `sluice`). */
const imageName = 'sluice';

interface Kustomization {
  readonly resources?: readonly string[];
  readonly images?: readonly { name: string; newName?: string; newTag?: string; digest?: string }[];
}

/** The objects of a text of YAML documents. @param where for the error. Errors: InputInvalid. */
export function parseManifests(text: string, where: string): AnyObject[] {
  const objects: AnyObject[] = [];
  for (const document of parseAllDocuments(text)) {
    const [error] = document.errors;
    if (error !== undefined) throw new SluiceError('InputInvalid', `${where}: ${error.message}`);
    const object = document.toJS() as AnyObject | null;
    if (object !== null) objects.push(object);
  }
  return objects;
}

/** The objects of `deploy/<platform>`: those that its kustomization.yaml names, in that order, else all by file name. */
export function shippedManifests(platform: Platform): AnyObject[] {
  const folder = `deploy/${platform}`;
  const named = readKustomization(folder)?.resources?.map((file) => `${folder}/${file}`);
  return (named ?? shippedFiles(folder))
    .filter((file) => file.endsWith('.yaml') && !file.endsWith(`/${crdFile}`))
    .flatMap((file) => parseManifests(shippedText(file), file));
}

function readKustomization(folder: string): Kustomization | undefined {
  const file = `${folder}/${kustomizationFile}`;
  return shippedFiles(folder).includes(file) ? (parse(shippedText(file)) as Kustomization) : undefined;
}

export interface ShippedOptions {
  readonly platform: Platform;
  /** See `kindTable`. */
  readonly machineConfigOperatorServes?: boolean;
  /** What to run, instead of the image that kustomization.yaml names. */
  readonly image?: string;
}

/** Everything that is shipped for a platform, in the order in which it can be applied: definitions first. */
export function shippedObjects(options: ShippedOptions): AnyObject[] {
  const { platform, machineConfigOperatorServes = false } = options;
  const definitions = renderCrds(platform, { machineConfigOperatorServes }) as unknown as AnyObject[];
  const manifests = shippedManifests(platform)
    .filter(({ kind }) => !machineConfigOperatorServes || kind !== 'DaemonSet') // It serves content itself.
    .map((object) => (machineConfigOperatorServes ? renderWhereServed(object) : object));
  const image = options.image ?? imageOf(readKustomization(`deploy/${platform}`));
  if (image !== undefined) for (const object of manifests) setImage(object, image);
  return [...definitions, ...manifests];
}

function imageOf(kustomization: Kustomization | undefined): string | undefined {
  const entry = kustomization?.images?.find(({ name }) => name === imageName);
  if (entry === undefined) return undefined;
  const { newName = imageName, newTag, digest } = entry;
  if (digest !== undefined) return `${newName}@${digest}`;
  return newTag === undefined ? newName : `${newName}:${newTag}`;
}

/** As kustomize does: every container whose image is called `sluice`. */
function setImage(object: AnyObject, image: string): void {
  const { template } = (object.spec ?? {}) as {
    template?: { spec?: Record<string, { image?: string }[] | undefined> };
  };
  for (const list of ['initContainers', 'containers']) {
    for (const container of template?.spec?.[list] ?? []) {
      if (container.image === imageName || container.image?.startsWith(`${imageName}:`) === true) {
        container.image = image;
      }
    }
  }
}
