import type { ClusterRole, ClusterRoleBinding, Draft, Role, RoleBinding, Subject } from '../api/core.ts';
import { annotations, labels } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';

/** One object that a check asks to read beyond what every check may. */
export interface ExtraRead {
  /** '' for the core group. */
  readonly group: string;
  readonly resource: string;
  /** '' for an object that has no namespace. */
  readonly namespace: string;
  readonly name: string;
}

const extraReadsMax = 32;
const groupForm = /^(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$/;
const resourceForm = /^[a-z][a-z0-9]*$/;
const nameForm = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

/**
 * The reads that a check's annotation asks for: `group/resource/namespace/name,…`, with an empty group for the core
 * and an empty namespace for what has none. Wildcards, subresources and whole kinds are refused: what is granted is
 * exactly what a person can read in the manifest.
 *
 * Errors: Forbidden, naming the entry.
 */
export function parseExtraReads(text: string | undefined): ExtraRead[] {
  if (text === undefined || text.trim() === '') return [];
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > extraReadsMax) {
    throw refused(`${entries.length} entries`, `at most ${extraReadsMax} are granted`);
  }
  return entries.map((entry) => {
    const parts = entry.split('/');
    const [group = '', resource = '', namespace = '', name = ''] = parts;
    if (parts.length !== 4) throw refused(entry, 'it is not group/resource/namespace/name');
    if (entry.includes('*')) throw refused(entry, 'wildcards are not granted');
    if (!groupForm.test(group) || !resourceForm.test(resource))
      throw refused(entry, 'it names no plain resource');
    if (namespace !== '' && !nameForm.test(namespace)) throw refused(entry, 'its namespace is no name');
    if (!nameForm.test(name)) throw refused(entry, 'it must name one object');
    return { group, resource, namespace, name };
  });
}

function refused(entry: string, why: string): SluiceError {
  return new SluiceError('Forbidden', `${annotations.preflightReads} asks for "${entry}": ${why}`);
}

/** The RBAC objects of one run: one role for each namespace that is read in, one for what has none. */
export interface Grants {
  readonly roles: readonly Draft<Role>[];
  readonly roleBindings: readonly Draft<RoleBinding>[];
  readonly clusterRoles: readonly Draft<ClusterRole>[];
  readonly clusterRoleBindings: readonly Draft<ClusterRoleBinding>[];
}

/** What gives the preflight identity the reads of one check, for one run: all of it carries the run's label. */
export function grantsFor(
  reads: readonly ExtraRead[],
  run: { runID: string; check: string; namespace: string; serviceAccount: string },
): Grants {
  const name = `sluice-preflight-${run.runID}-${run.check}`;
  const metadata = { name, labels: { [labels.preflightRun]: run.runID } };
  const subjects: Subject[] = [
    { kind: 'ServiceAccount', name: run.serviceAccount, namespace: run.namespace },
  ];
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  const rules = (wanted: readonly ExtraRead[]) =>
    wanted.map((read) => ({
      apiGroups: [read.group],
      resources: [read.resource],
      resourceNames: [read.name],
      verbs: ['get'],
    }));
  const wide = reads.filter((read) => read.namespace === '');
  const namespaces = [...new Set(reads.map((read) => read.namespace))].filter((each) => each !== '').sort();
  return {
    roles: namespaces.map((namespace) => ({
      metadata: { ...metadata, namespace },
      rules: rules(reads.filter((read) => read.namespace === namespace)),
    })),
    roleBindings: namespaces.map((namespace) => ({
      metadata: { ...metadata, namespace },
      roleRef: roleRef('Role'),
      subjects,
    })),
    clusterRoles: wide.length === 0 ? [] : [{ metadata, rules: rules(wide) }],
    clusterRoleBindings: wide.length === 0 ? [] : [{ metadata, roleRef: roleRef('ClusterRole'), subjects }],
  };
}
