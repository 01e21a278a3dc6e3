import { Document, isMap, isScalar, isSeq, parseAllDocuments, type YAMLMap, type YAMLSeq } from 'yaml';
import type { AnyObject } from '../api/core.ts';
import { type KindRef, type KindTable, kindTable } from '../api/kinds.ts';
import { names } from '../api/names.ts';

/** Files of deploy/standalone that plain Kubernetes gets too, in our own group, namespace and ServiceAccounts. */
export const sharedFiles = [
  '10-preflight.yaml',
  '20-controller.yaml',
  '30-nodes.yaml',
  '40-release-guard.yaml',
] as const;

/** What OpenShift gets of the same: there the platform's own operators apply releases and drain nodes. */
const notOnOpenShift = ['sluice-updater', 'sluice-payload-applier'];

const fleetLockSecret = 'sluice-fleet-lock';
const controllerUser = 'sluice-controller';
const nodesGroup = 'system:nodes';

/**
 * A file of deploy/standalone as plain Kubernetes needs it, its comments kept: groups as the table of kinds says,
 * namespaces as `names` says, ServiceAccounts instead of certificates. What only OpenShift serves is left out.
 */
export function renderForKubernetes(text: string): string {
  const documents = parseAllDocuments(renamed(text)) as Document[];
  for (const { contents: root } of documents) {
    if (!isMap(root)) continue;
    withSeq(root, 'rules', renderRules);
    withSeq(root, 'subjects', renderSubjects);
    const spec = root.get('spec');
    const constraints = isMap(spec) ? spec.get('matchConstraints') : undefined;
    if (isMap(constraints)) withSeq(constraints, 'resourceRules', renderRules);
  }
  return textOf(documents);
}

/**
 * A file of deploy/standalone as OpenShift needs it: the same namespaces, ServiceAccounts, fewer rights; groups as the
 * table of kinds says for the default feature set.
 */
export function renderForOpenShift(text: string): string {
  const documents = (parseAllDocuments(text) as Document[]).filter(
    ({ contents }) =>
      !notOnOpenShift.includes(
        String(contents && isMap(contents) ? contents.getIn(['metadata', 'name']) : ''),
      ),
  );
  for (const { contents: root } of documents) {
    if (!isMap(root)) continue;
    regroup(root, kindTable('openshift'));
    withSeq(root, 'subjects', renderSubjects);
  }
  return textOf(documents);
}

/** An object of deploy/openshift where the machine-config operator serves InternalReleaseImage itself. */
export function renderWhereServed(object: AnyObject): AnyObject {
  const document = new Document(object);
  if (isMap(document.contents))
    regroup(document.contents, kindTable('openshift', { machineConfigOperatorServes: true }));
  return document.toJS() as AnyObject;
}

/** The console there: OpenShift gives each namespace its own range of users, and takes no other. */
export function consoleForOpenShift(text: string): string {
  const documents = parseAllDocuments(text) as Document[];
  for (const document of documents) {
    const context = document.getIn(['spec', 'template', 'spec', 'securityContext']);
    if (isMap(context)) context.delete('runAsUser');
  }
  return textOf(documents);
}

/** The DaemonSets of the nodes and the rights of workers, as OpenShift needs them beside its machine-config operator. */
export function nodesForOpenShift(text: string): string {
  const [from, to] = [names('kubernetes'), names('openshift')];
  const documents = parseAllDocuments(
    text
      .replaceAll(from.machineConfigNamespace, to.machineConfigNamespace)
      .replaceAll(`name: ${from.registryTlsSecret}`, `name: ${to.registryTlsSecret}`)
      .replaceAll(`name: ${from.registryCa}`, `name: ${to.registryCa}`),
  ) as Document[];
  for (const { contents: root } of documents) {
    if (!isMap(root)) continue;
    withSeq(root, 'rules', workerRules);
    const pod = root.getIn(['spec', 'template', 'spec']);
    if (isMap(pod)) besideOperator(pod);
  }
  return textOf(documents);
}

/** CRI-O has its mirrors from the machine-config operator, and the name of the registries is the platform's. */
function workerRules(rules: YAMLSeq): void {
  for (const rule of rules.items) {
    if (!isMap(rule) || !strings(rule.get('resources')).includes('imagedigestmirrorsets')) continue;
    rule.set('apiGroups', ['config.openshift.io']);
    rule.set('resources', ['infrastructures']);
    rule.set('verbs', ['get']);
  }
}

/** Nothing reboots, so that no slot is asked for; an account of its own brings the right to the host's files. */
function besideOperator(pod: YAMLMap): void {
  const args = pod.getIn(['containers', 0, 'args']);
  if (isSeq(args)) args.add('--beside-openshift');
  const volumes = pod.get('volumes');
  for (const volume of isSeq(volumes) ? volumes.items : []) {
    const sources = isMap(volume) ? volume.getIn(['projected', 'sources']) : undefined;
    if (isSeq(sources))
      sources.items = sources.items.filter(
        (source) => !isMap(source) || source.getIn(['secret', 'name']) !== fleetLockSecret,
      );
  }
}

/** Puts rules about the content kinds into the groups where these are; what is named beside them in one rule stays. */
function regroup(root: YAMLMap, kinds: KindTable): void {
  const groups = new Map(
    [kinds.InternalReleaseImage, kinds.MachineConfigNode].map((kind: KindRef) => [kind.plural, kind.group]),
  );
  const change = (rules: YAMLSeq) => {
    for (const rule of rules.items) {
      if (!isMap(rule)) continue;
      const wanted = new Set(
        strings(rule.get('resources')).map((name) => groups.get(name.split('/')[0] ?? '')),
      );
      const [group] = wanted;
      if (wanted.size !== 1 || group === undefined) continue;
      const seq = rule.get('apiGroups');
      if (!isSeq(seq)) continue;
      seq.items = [];
      seq.add(group);
    }
  };
  withSeq(root, 'rules', change);
  const spec = root.get('spec');
  const constraints = isMap(spec) ? spec.get('matchConstraints') : undefined;
  if (isMap(constraints)) withSeq(constraints, 'resourceRules', change);
}

function textOf(documents: readonly Document[]): string {
  const texts = documents.map((document) =>
    document
      .toString({ lineWidth: 118, indentSeq: false, flowCollectionPadding: false })
      .replace(/^---\n/, '')
      .trimEnd(),
  );
  return `${texts.join('\n---\n')}\n`;
}

/** Namespaces, wherever they stand: in metadata, in subjects, in expressions. */
function renamed(text: string): string {
  const [from, to] = [names('standalone'), names('kubernetes')];
  const keys = (Object.keys(from) as (keyof typeof from)[]).filter((key) => from[key] !== to[key]);
  return keys
    .sort((a, b) => String(from[b]).length - String(from[a]).length)
    .reduce((done, key) => done.replaceAll(String(from[key]), String(to[key])), text);
}

function withSeq(map: YAMLMap, key: string, change: (seq: YAMLSeq) => void): void {
  const seq = map.get(key);
  if (isSeq(seq)) change(seq);
}

const [ours, platforms] = [kindTable('kubernetes'), kindTable('standalone')];
const groupOf = new Map(
  (Object.keys(platforms) as (keyof typeof platforms)[]).map((kind) => {
    const from: KindRef = platforms[kind];
    const to: KindRef = ours[kind];
    return [`${from.plural}.${from.group}`, to.group];
  }),
);
const isOpenShift = (group: string) => group.endsWith('.openshift.io');

/** Groups of the rules' resources; a rule of which nothing is left goes. */
function renderRules(rules: YAMLSeq): void {
  rules.items = rules.items.filter((rule) => {
    if (!isMap(rule)) return true;
    const groups = strings(rule.get('apiGroups'));
    if (!groups.some(isOpenShift)) return true;
    const resources = strings(rule.get('resources'));
    const wanted = groups.flatMap((group) => {
      if (!isOpenShift(group)) return [group];
      return resources.flatMap((resource) => {
        const plural = resource.split('/')[0] ?? '';
        const known = [...groupOf].filter(([name]) => name.endsWith(`.${group}`));
        if (plural === '*') return known.map(([, to]) => to);
        return groupOf.get(`${plural}.${group}`) ?? [];
      });
    });
    const seq = rule.get('apiGroups');
    if (!isSeq(seq) || wanted.length === 0) return false;
    const kept = new Set(wanted);
    seq.items = [...seq.items.filter((item) => kept.delete(String(isScalar(item) ? item.value : item)))];
    for (const group of kept) seq.add(group);
    return true;
  });
}

/** The controller is a ServiceAccount there, and the kubelets' own certificates get no rights of ours. */
function renderSubjects(subjects: YAMLSeq): void {
  subjects.items = subjects.items.filter((item) => {
    if (!isMap(item)) return true;
    if (item.get('kind') === 'Group' && item.get('name') === nodesGroup) return false;
    if (item.get('kind') !== 'User' || item.get('name') !== controllerUser) return true;
    item.delete('apiGroup');
    item.set('kind', 'ServiceAccount');
    item.set('namespace', names('kubernetes').clusterVersionNamespace);
    return true;
  });
}

function strings(seq: unknown): string[] {
  return isSeq(seq) ? seq.items.map((item) => String(isScalar(item) ? item.value : item)) : [];
}
