/**
 * Makes messages.json from the public Go modules of Kubernetes:
 *   node src/apiserver/protobuf/generate.ts <directory of k8s.io/api> <directory of k8s.io/apimachinery>
 * `generated.proto` gives numbers and types, the Go structs what is inlined, a pointer or omitted when empty.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Field, Messages } from './decode.ts';

/** The kinds that clients send as protobuf, by `group/version/kind`. */
const roots: Readonly<Record<string, string>> = {
  'v1/Namespace': 'core.v1.Namespace',
  'v1/Node': 'core.v1.Node',
  'v1/Pod': 'core.v1.Pod',
  'v1/Binding': 'core.v1.Binding',
  'v1/ConfigMap': 'core.v1.ConfigMap',
  'v1/Secret': 'core.v1.Secret',
  'v1/ServiceAccount': 'core.v1.ServiceAccount',
  'v1/Service': 'core.v1.Service',
  'v1/Event': 'core.v1.Event',
  'apps/v1/Deployment': 'apps.v1.Deployment',
  'apps/v1/StatefulSet': 'apps.v1.StatefulSet',
  'apps/v1/DaemonSet': 'apps.v1.DaemonSet',
  'autoscaling/v1/Scale': 'autoscaling.v1.Scale',
  'batch/v1/Job': 'batch.v1.Job',
  'batch/v1/CronJob': 'batch.v1.CronJob',
  'policy/v1/Eviction': 'policy.v1.Eviction',
  'policy/v1/PodDisruptionBudget': 'policy.v1.PodDisruptionBudget',
  'coordination.k8s.io/v1/Lease': 'coordination.v1.Lease',
  'rbac.authorization.k8s.io/v1/Role': 'rbac.v1.Role',
  'rbac.authorization.k8s.io/v1/ClusterRole': 'rbac.v1.ClusterRole',
  'rbac.authorization.k8s.io/v1/RoleBinding': 'rbac.v1.RoleBinding',
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': 'rbac.v1.ClusterRoleBinding',
  'scheduling.k8s.io/v1/PriorityClass': 'scheduling.v1.PriorityClass',
  'certificates.k8s.io/v1/CertificateSigningRequest': 'certificates.v1.CertificateSigningRequest',
  'networking.k8s.io/v1/NetworkPolicy': 'networking.v1.NetworkPolicy',
  'authentication.k8s.io/v1/TokenRequest': 'authentication.v1.TokenRequest',
  'authentication.k8s.io/v1/TokenReview': 'authentication.v1.TokenReview',
  'authentication.k8s.io/v1/SelfSubjectReview': 'authentication.v1.SelfSubjectReview',
  'authorization.k8s.io/v1/SubjectAccessReview': 'authorization.v1.SubjectAccessReview',
  'authorization.k8s.io/v1/LocalSubjectAccessReview': 'authorization.v1.LocalSubjectAccessReview',
  'authorization.k8s.io/v1/SelfSubjectAccessReview': 'authorization.v1.SelfSubjectAccessReview',
  'authorization.k8s.io/v1/SelfSubjectRulesReview': 'authorization.v1.SelfSubjectRulesReview',
  DeleteOptions: 'meta.v1.DeleteOptions',
};

interface GoField {
  readonly json: string;
  readonly inline: boolean;
  readonly omitEmpty: boolean;
  readonly pointer: boolean;
}

const scalars: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'bytes',
  bool: 'bool',
  int32: 'int',
  int64: 'int',
  uint32: 'int',
  uint64: 'int',
  double: 'double',
};

/** Messages whose JSON is no object (their Go types marshal themselves). */
const special: Readonly<Record<string, string>> = {
  'meta.v1.Time': 'time',
  'meta.v1.MicroTime': 'microtime',
  'meta.v1.Duration': 'duration',
  'meta.v1.FieldsV1': 'raw',
  'meta.v1.Verbs': 'items',
  'authentication.v1.ExtraValue': 'items',
  'authorization.v1.ExtraValue': 'items',
  'certificates.v1.ExtraValue': 'items',
  'api.resource.Quantity': 'quantity',
  'util.intstr.IntOrString': 'intorstring',
  'pkg.runtime.RawExtension': 'raw',
};

const [, , api = '', machinery = ''] = process.argv;
if (machinery === '') throw new Error('two directories are needed: of k8s.io/api and of k8s.io/apimachinery');

const packages: readonly [name: string, directory: string][] = [
  ...[
    'apps',
    'authentication',
    'authorization',
    'autoscaling',
    'batch',
    'certificates',
    'coordination',
    'core',
    'networking',
    'policy',
    'rbac',
    'scheduling',
  ].map((group): [string, string] => [`${group}.v1`, join(api, group, 'v1')]),
  ['meta.v1', join(machinery, 'pkg/apis/meta/v1')],
];

const proto = new Map<string, { name: string; type: string; number: number; repeated: boolean }[]>();
const go = new Map<string, Map<string, GoField>>();
for (const [name, directory] of packages) {
  readProto(name, readFileSync(join(directory, 'generated.proto'), 'utf8'));
  for (const file of readdirSync(directory).filter((entry) => /types.*\.go$/.test(entry))) {
    readGo(name, readFileSync(join(directory, file), 'utf8'));
  }
}

const messages: Record<string, Field[]> = {};
for (const root of Object.values(roots)) take(root);
const document: Messages = { roots, messages };
const lines = Object.entries(messages).map(
  ([name, fields]) => `${JSON.stringify(name)}:${JSON.stringify(fields)}`,
);
const text = `{"roots":${JSON.stringify(document.roots)},"messages":{\n${lines.join(',\n')}}}`;
writeFileSync(join(import.meta.dirname, 'messages.json'), `${text}\n`);
console.log(`${Object.keys(messages).length} messages, ${text.length} bytes`);

function readProto(packageName: string, source: string): void {
  for (const [, message = '', body = ''] of source.matchAll(/^message (\w+) \{\n(.*?)^\}/gms)) {
    const fields = [...body.matchAll(/^ {2}(optional |repeated )?(map<[^>]+>|[\w.]+) (\w+) = (\d+);/gm)];
    proto.set(
      `${packageName}.${message}`,
      fields.map(([, label, type = '', name = '', number]) => ({
        name,
        type: typeOf(packageName, type),
        number: Number(number),
        repeated: label === 'repeated ',
      })),
    );
  }
}

function typeOf(packageName: string, type: string): string {
  const map = /^map<string, (.+)>$/.exec(type);
  if (map !== null) return `map:${typeOf(packageName, map[1] ?? '')}`;
  const scalar = scalars[type];
  if (scalar !== undefined) return scalar;
  const full = type.startsWith('.')
    ? type.slice(1).replace(/^k8s\.io\.(?:apimachinery\.pkg\.apis\.|apimachinery\.pkg\.|api\.)/, '')
    : `${packageName}.${type}`;
  const named = full === 'runtime.RawExtension' ? 'pkg.runtime.RawExtension' : full;
  return special[named] ?? special[`api.${named}`] ?? named;
}

function readGo(packageName: string, source: string): void {
  for (const [, struct = '', body = ''] of source.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
    const fields = new Map<string, GoField>();
    const tagged = /^\t(?:\w+\s+)?(\S+)\s+`json:"([^"]*)".*? protobuf:"([^"]*)".*`/gm;
    for (const [, type = '', json = '', tag = ''] of body.matchAll(tagged)) {
      // An embedded struct without a name of its own is known by its type.
      const embedded = type.replace(/^.*\./, '');
      const name = /name=(\w+)/.exec(tag)?.[1] ?? embedded.charAt(0).toLowerCase() + embedded.slice(1);
      const [jsonName = '', ...options] = json.split(',');
      fields.set(name, {
        json: jsonName === '' ? name : jsonName,
        inline: options.includes('inline'),
        omitEmpty: options.includes('omitempty'),
        pointer: type.startsWith('*'),
      });
    }
    go.set(`${packageName}.${struct}`, fields);
  }
}

function take(name: string): void {
  if (messages[name] !== undefined) return;
  const fields = proto.get(name);
  const tags = go.get(name);
  if (fields === undefined) throw new Error(`${name} is not known`);
  const taken: Field[] = [];
  messages[name] = taken;
  for (const field of fields) {
    if (name === 'meta.v1.ObjectMeta' && field.name === 'managedFields') continue;
    const tag = tags?.get(field.name);
    if (tag === undefined && tags !== undefined) throw new Error(`${name}.${field.name} has no tag`);
    const flags =
      (field.repeated ? '*' : '') +
      (tag?.inline === true ? '<' : '') +
      (tag?.omitEmpty === true && !tag.pointer ? '?' : '');
    taken.push([field.number, tag?.json ?? field.name, field.type, flags]);
    const inner = field.type.replace(/^map:/, '');
    if (inner.includes('.')) take(inner);
  }
}
