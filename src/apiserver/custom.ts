import { type KubeObject, list, record } from './object.ts';
import { allVerbs, type SubresourceScope } from './scope/kinds.ts';
import type { PrinterColumn, ScalePaths, Served } from './served.ts';

/** The resources that a CustomResourceDefinition (apiextensions.k8s.io/v1) serves, one for each served version. */
export function customResources(crd: KubeObject): Served[] {
  const spec = record(crd.spec);
  const group = String(spec.group ?? '');
  const names = record(record(crd.status).acceptedNames ?? spec.names);
  const versions = list(spec.versions).map(record);
  const stored = versions.find((version) => version.storage === true);
  return versions
    .filter((version) => version.served === true)
    .map((version) => ({
      group,
      version: String(version.name),
      kind: String(names.kind),
      listKind: String(names.listKind ?? `${names.kind}List`),
      plural: String(names.plural),
      singular: String(names.singular ?? String(names.kind).toLowerCase()),
      shortNames: list(names.shortNames).map(String),
      categories: list(names.categories).map(String),
      namespaced: spec.scope === 'Namespaced',
      verbs: allVerbs,
      subresources: subresources(record(version.subresources)),
      role: 'acts' as const,
      selectableFields: list(version.selectableFields).map((field) =>
        String(record(field).jsonPath).replace(/^\./, ''),
      ),
      generation: true,
      apiVersion: `${group}/${version.name}`,
      storage: `${names.plural}.${group}`,
      custom: {
        crd,
        columns: version.additionalPrinterColumns as readonly PrinterColumn[] | undefined,
        scale: record(version.subresources).scale as ScalePaths | undefined,
        storageVersion: String(stored?.name ?? version.name),
        deprecationWarning: deprecation(group, names, version),
      },
    }));
}

function subresources(wanted: Record<string, unknown>): SubresourceScope[] {
  const found: SubresourceScope[] = [];
  if (wanted.status !== undefined) found.push({ name: 'status', verbs: ['get', 'patch', 'update'] });
  if (wanted.scale !== undefined) {
    found.push({
      name: 'scale',
      verbs: ['get', 'patch', 'update'],
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    });
  }
  return found;
}

function deprecation(
  group: string,
  names: Record<string, unknown>,
  version: Record<string, unknown>,
): string | undefined {
  if (version.deprecated !== true) return undefined;
  return String(version.deprecationWarning ?? `${group}/${version.name} ${names.kind} is deprecated`);
}
