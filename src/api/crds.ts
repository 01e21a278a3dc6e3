import { parse } from 'yaml';
import { shippedFiles, shippedText } from '../program/files.ts';
import type { CustomResourceDefinition } from './core.ts';
import {
  type KindName,
  type KindRef,
  type KindTable,
  kindTable,
  type Platform,
  resourceName,
} from './kinds.ts';
import { labels, partOf } from './names.ts';

/** The definitions of `crds/`, the source of truth of every kind of ours, as the files hold them, by file name. */
export function readCrds(): CustomResourceDefinition[] {
  return shippedFiles('crds').map((file) => parse(shippedText(file)) as CustomResourceDefinition);
}

/**
 * The definitions to install on a platform, group and version as the table of kinds says. On openshift those that
 * the platform serves itself are left out.
 */
export function renderCrds(
  platform: Platform,
  options: { machineConfigOperatorServes?: boolean } = {},
): CustomResourceDefinition[] {
  const kinds = kindTable(platform, options);
  return readCrds()
    .filter((crd) => platform !== 'openshift' || !ownedByOpenShift(crd, kinds))
    .map((crd) => renderCrd(crd, kinds));
}

function renderCrd(crd: CustomResourceDefinition, kinds: KindTable): CustomResourceDefinition {
  const kind = kindOf(crd, kinds);
  // Anchors make parts of a parsed file one object; a definition that is handed out shares none.
  const rendered = JSON.parse(JSON.stringify(crd)) as CustomResourceDefinition;
  rendered.metadata.name = resourceName(kind);
  // By this an installer tells them from those of the platform.
  rendered.metadata.labels = { ...rendered.metadata.labels, [labels.partOf]: partOf };
  rendered.spec.group = kind.group;
  for (const version of rendered.spec.versions) version.name = kind.version;
  return rendered;
}

/** ClusterVersion and its kin are the platform's own there: another definition would replace its schema. */
function ownedByOpenShift(crd: CustomResourceDefinition, kinds: KindTable): boolean {
  const own: readonly KindName[] = ['ClusterVersion', 'ClusterOperator', 'ImageDigestMirrorSet'];
  return own.includes(kindOf(crd, kinds).kind as KindName);
}

function kindOf(crd: CustomResourceDefinition, kinds: KindTable): KindRef {
  const kind = (kinds as unknown as Record<string, KindRef | undefined>)[crd.spec.names.kind];
  if (kind === undefined) throw new Error(`${crd.metadata.name} is not in the table of kinds`);
  return kind;
}
