/**
 * Cuts the schemas of the embedded API's built-in kinds from the public OpenAPI of Kubernetes:
 *
 *     go mod download -json k8s.io/kubernetes@v1.34.4        # prints "Dir"
 *     node src/apiserver/schemas/generate.ts <Dir>/api/openapi-spec/v3 v1.34.4 SERVED
 *
 * SERVED holds the same documents as a running API server of that version gives them (`kubectl get --raw
 * /openapi/v3/apis/apps/v1`, …), under the same names: only those have the values of enumerations.
 *
 * Writes kubernetes.json beside this file: the definitions that the kinds below reach, with their descriptions.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Kinds of the closed scope, by the document that holds them. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  'api/v1': [
    'Binding',
    'ConfigMap',
    'Event',
    'Namespace',
    'Node',
    'Pod',
    'Secret',
    'Service',
    'ServiceAccount',
  ],
  'apis/admissionregistration.k8s.io/v1': [
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
  ],
  'apis/apiextensions.k8s.io/v1': ['CustomResourceDefinition'],
  'apis/apps/v1': ['DaemonSet', 'Deployment', 'StatefulSet'],
  'apis/authentication.k8s.io/v1': ['SelfSubjectReview', 'TokenReview'],
  'apis/authorization.k8s.io/v1': [
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ],
  'apis/batch/v1': ['CronJob', 'Job'],
  'apis/certificates.k8s.io/v1': ['CertificateSigningRequest'],
  'apis/coordination.k8s.io/v1': ['Lease'],
  'apis/events.k8s.io/v1': ['Event'],
  'apis/flowcontrol.apiserver.k8s.io/v1': ['FlowSchema'],
  'apis/networking.k8s.io/v1': ['NetworkPolicy'],
  'apis/policy/v1': ['PodDisruptionBudget'],
  'apis/rbac.authorization.k8s.io/v1': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
  'apis/scheduling.k8s.io/v1': ['PriorityClass'],
  'apis/storage.k8s.io/v1': ['StorageClass'],
};

/** Bodies of subresources and answers, which stand in the same documents. */
const others: readonly string[] = [
  'io.k8s.api.authentication.v1.TokenRequest',
  'io.k8s.api.autoscaling.v1.Scale',
  'io.k8s.api.policy.v1.Eviction',
  'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Definition = { [key: string]: Json };

interface Document {
  readonly components: { readonly schemas: Record<string, Definition> };
}

const gvkKey = 'x-kubernetes-group-version-kind';

function main(folder?: string, version?: string, served?: string): void {
  if (folder === undefined || version === undefined || served === undefined) {
    throw new Error('usage: generate.ts FOLDER VERSION SERVED');
  }
  const known = new Map<string, Definition>();
  const named: Record<string, string> = {};
  for (const [groupVersion, wanted] of Object.entries(kinds)) {
    const file = `${groupVersion.replaceAll('/', '__')}_openapi.json`;
    const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Document;
    const running = JSON.parse(readFileSync(join(served, file), 'utf8')) as Document;
    for (const [name, definition] of Object.entries(document.components.schemas)) {
      known.set(name, withEnumerations(definition, running.components.schemas[name]));
    }
    const apiVersion = groupVersion.replace(/^apis?\//, '');
    for (const kind of wanted) named[`${apiVersion}/${kind}`] = nameOf(document, apiVersion, kind);
  }
  const definitions: Record<string, Definition> = {};
  const pending = [...Object.values(named), ...others];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (definitions[name] !== undefined) continue;
    const definition = known.get(name);
    if (definition === undefined) throw new Error(`no definition of ${name}`);
    definitions[name] = definition;
    pending.push(...referencesOf(definition));
  }
  // One definition a line, sorted: a newer source gives a difference that people can read.
  const lines = Object.keys(definitions)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(definitions[name])}`);
  const source = JSON.stringify(`k8s.io/kubernetes ${version} api/openapi-spec/v3`);
  const text = `{"source":${source},\n"kinds":${JSON.stringify(named)},\n"definitions":{\n${lines.join(',\n')}\n}}\n`;
  writeFileSync(join(import.meta.dirname, 'kubernetes.json'), text);
}

/** The properties of a definition with the values, and what is said of them, of the same one as it is served. */
function withEnumerations(definition: Definition, served: Definition | undefined): Definition {
  const properties = Object.entries((definition.properties ?? {}) as Record<string, Definition>);
  const others = (served?.properties ?? {}) as Record<string, Definition>;
  const enumerated = properties.map(([name, property]) => {
    const other = others[name];
    if (other?.enum !== undefined) {
      return [name, { ...property, description: other.description ?? '', enum: other.enum }];
    }
    const { items } = (other ?? {}) as { items?: Definition };
    return items?.enum === undefined ? [name, property] : [name, { ...property, items }];
  });
  return properties.length === 0 ? definition : { ...definition, properties: Object.fromEntries(enumerated) };
}

function nameOf(document: Document, apiVersion: string, kind: string): string {
  const [version, group = ''] = apiVersion.split('/').reverse();
  for (const [name, definition] of Object.entries(document.components.schemas)) {
    const list = definition[gvkKey];
    if (!Array.isArray(list)) continue;
    const found = (list as Record<string, string>[]).some(
      (gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind,
    );
    if (found) return name;
  }
  throw new Error(`no definition of ${apiVersion} ${kind}`);
}

function referencesOf(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner.replace('#/components/schemas/', '')] : referencesOf(inner),
  );
}

main(process.argv[2], process.argv[3], process.argv[4]);
