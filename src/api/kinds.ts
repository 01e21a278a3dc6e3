import type {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Event,
  Job,
  KubeObject,
  Lease,
  Namespace,
  Node,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from './core.ts';
import type {
  ClusterOperator,
  ClusterVersion,
  FleetLockGroup,
  ImageDigestMirrorSet,
  InternalReleaseImage,
  MachineConfigNode,
  NodeUpdate,
  PolicyFacts,
  UpdatePreflight,
} from './resources.ts';

/** Where Sluice runs (docs/architecture.md, "One API, three platforms"). */
export type Platform = 'standalone' | 'kubernetes' | 'openshift';

export const platforms: readonly Platform[] = ['standalone', 'kubernetes', 'openshift'];

/** A kind and where the API serves it. `T` is the shape of its objects; nothing of it exists at run time. */
export interface KindRef<T extends KubeObject = KubeObject> {
  readonly kind: string;
  readonly plural: string;
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly namespaced: boolean;
  readonly shape?: T;
}

export interface KindTable {
  readonly ClusterVersion: KindRef<ClusterVersion>;
  readonly ClusterOperator: KindRef<ClusterOperator>;
  readonly ImageDigestMirrorSet: KindRef<ImageDigestMirrorSet>;
  readonly InternalReleaseImage: KindRef<InternalReleaseImage>;
  readonly MachineConfigNode: KindRef<MachineConfigNode>;
  readonly UpdatePreflight: KindRef<UpdatePreflight>;
  readonly NodeUpdate: KindRef<NodeUpdate>;
  readonly FleetLockGroup: KindRef<FleetLockGroup>;
  readonly PolicyFacts: KindRef<PolicyFacts>;
  readonly Namespace: KindRef<Namespace>;
  readonly Node: KindRef<Node>;
  readonly Pod: KindRef<Pod>;
  readonly ConfigMap: KindRef<ConfigMap>;
  readonly Secret: KindRef<Secret>;
  readonly ServiceAccount: KindRef<ServiceAccount>;
  readonly Event: KindRef<Event>;
  readonly Job: KindRef<Job>;
  readonly Deployment: KindRef<Deployment>;
  readonly PodDisruptionBudget: KindRef<PodDisruptionBudget>;
  readonly Lease: KindRef<Lease>;
  readonly Role: KindRef<Role>;
  readonly RoleBinding: KindRef<RoleBinding>;
  readonly ClusterRole: KindRef<ClusterRole>;
  readonly ClusterRoleBinding: KindRef<ClusterRoleBinding>;
  readonly CustomResourceDefinition: KindRef<CustomResourceDefinition>;
  readonly ValidatingAdmissionPolicy: KindRef<ValidatingAdmissionPolicy>;
  readonly ValidatingAdmissionPolicyBinding: KindRef<ValidatingAdmissionPolicyBinding>;
}

export type KindName = keyof KindTable;

/** The kinds of ours and of OpenShift, whose group depends on the platform, in the order of the table. */
export const ownKinds = [
  'ClusterVersion',
  'ClusterOperator',
  'ImageDigestMirrorSet',
  'InternalReleaseImage',
  'MachineConfigNode',
  'UpdatePreflight',
  'NodeUpdate',
  'FleetLockGroup',
  'PolicyFacts',
] as const satisfies readonly KindName[];

const configGroup = 'config.openshift.io';
export const machineConfigGroup = 'machineconfiguration.openshift.io';
export const sluiceGroup = 'sluice.dev';

/**
 * The table of kinds: which group serves each on this platform. On openshift MachineConfigNode is the machine-config
 * operator's in every feature set, so ours is in our own group; InternalReleaseImage moves there where that operator
 * serves it itself (`machineConfigOperatorServes`): two writers of one status would fight.
 */
export function kindTable(
  platform: Platform,
  options: { machineConfigOperatorServes?: boolean } = {},
): KindTable {
  const ours = platform === 'kubernetes';
  const contentOurs = ours || (platform === 'openshift' && options.machineConfigOperatorServes === true);
  const config = ours ? sluiceGroup : configGroup;
  const content = contentOurs ? sluiceGroup : machineConfigGroup;
  const nodes = platform === 'standalone' ? machineConfigGroup : sluiceGroup;
  const admission = 'admissionregistration.k8s.io';
  const rbac = 'rbac.authorization.k8s.io';
  return {
    ClusterVersion: clusterKind(config, 'v1', 'ClusterVersion', 'clusterversions'),
    ClusterOperator: clusterKind(config, 'v1', 'ClusterOperator', 'clusteroperators'),
    ImageDigestMirrorSet: clusterKind(config, 'v1', 'ImageDigestMirrorSet', 'imagedigestmirrorsets'),
    InternalReleaseImage: clusterKind(content, 'v1', 'InternalReleaseImage', 'internalreleaseimages'),
    MachineConfigNode: clusterKind(nodes, 'v1', 'MachineConfigNode', 'machineconfignodes'),
    UpdatePreflight: namespacedKind(config, ours ? 'v1' : 'v1alpha1', 'UpdatePreflight', 'updatepreflights'),
    NodeUpdate: clusterKind(sluiceGroup, 'v1', 'NodeUpdate', 'nodeupdates'),
    FleetLockGroup: clusterKind(sluiceGroup, 'v1', 'FleetLockGroup', 'fleetlockgroups'),
    PolicyFacts: clusterKind(sluiceGroup, 'v1', 'PolicyFacts', 'policyfacts'),
    Namespace: clusterKind('', 'v1', 'Namespace', 'namespaces'),
    Node: clusterKind('', 'v1', 'Node', 'nodes'),
    Pod: namespacedKind('', 'v1', 'Pod', 'pods'),
    ConfigMap: namespacedKind('', 'v1', 'ConfigMap', 'configmaps'),
    Secret: namespacedKind('', 'v1', 'Secret', 'secrets'),
    ServiceAccount: namespacedKind('', 'v1', 'ServiceAccount', 'serviceaccounts'),
    Event: namespacedKind('', 'v1', 'Event', 'events'),
    Job: namespacedKind('batch', 'v1', 'Job', 'jobs'),
    Deployment: namespacedKind('apps', 'v1', 'Deployment', 'deployments'),
    PodDisruptionBudget: namespacedKind('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
    Lease: namespacedKind('coordination.k8s.io', 'v1', 'Lease', 'leases'),
    Role: namespacedKind(rbac, 'v1', 'Role', 'roles'),
    RoleBinding: namespacedKind(rbac, 'v1', 'RoleBinding', 'rolebindings'),
    ClusterRole: clusterKind(rbac, 'v1', 'ClusterRole', 'clusterroles'),
    ClusterRoleBinding: clusterKind(rbac, 'v1', 'ClusterRoleBinding', 'clusterrolebindings'),
    CustomResourceDefinition: clusterKind(
      'apiextensions.k8s.io',
      'v1',
      'CustomResourceDefinition',
      'customresourcedefinitions',
    ),
    ValidatingAdmissionPolicy: clusterKind(
      admission,
      'v1',
      'ValidatingAdmissionPolicy',
      'validatingadmissionpolicies',
    ),
    ValidatingAdmissionPolicyBinding: clusterKind(
      admission,
      'v1',
      'ValidatingAdmissionPolicyBinding',
      'validatingadmissionpolicybindings',
    ),
  };
}

function clusterKind<T extends KubeObject>(
  group: string,
  version: string,
  kind: string,
  plural: string,
): KindRef<T> {
  return { kind, plural, group, version, namespaced: false };
}

function namespacedKind<T extends KubeObject>(
  group: string,
  version: string,
  kind: string,
  plural: string,
): KindRef<T> {
  return { kind, plural, group, version, namespaced: true };
}

/** `apiVersion` as objects of the kind carry it. */
export function apiVersionOf(kind: Pick<KindRef, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}

/** The name of the kind's CustomResourceDefinition, and of its resource in messages: `jobs.batch`, `pods`. */
export function resourceName(kind: Pick<KindRef, 'group' | 'plural'>): string {
  return kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
}
