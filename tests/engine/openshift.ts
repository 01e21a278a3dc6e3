import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyObject } from '../../src/api/core.ts';
import { installObjects } from '../../src/install/install.ts';
import { parseManifests, shippedObjects } from '../../src/install/manifests.ts';
import { applyObject } from '../../src/kube/apply.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { connect } from '../../src/kube/platform.ts';
import { createIdentities } from '../identities.ts';
import { sharedData } from '../tier.ts';
import { type RealCluster, startRealCluster } from './real.ts';

export interface OpenShiftOptions {
  /** `default`: the schemas that most clusters serve; `preview`: those of the preview feature sets. */
  readonly featureSet: 'default' | 'preview';
  /** Whether the machine-config operator serves InternalReleaseImage itself. */
  readonly internalReleaseImage?: boolean;
}

/** A real API server with the definitions, namespaces and identities of an OpenShift cluster, and Sluice installed. */
export interface OpenShiftCluster {
  readonly real: RealCluster;
  /** As an administrator. */
  readonly client: KubeClient;
  /** As the cluster-version operator, by its ServiceAccount. */
  readonly operator: KubeClient;
  readonly shipped: readonly AnyObject[];
  close(): Promise<void>;
}

const crdFiles = {
  default: ['clusterversions-default', 'machineconfignodes-default'],
  preview: ['clusterversions', 'machineconfignodes'],
} as const;

export async function startOpenShift(options: OpenShiftOptions): Promise<OpenShiftCluster> {
  const real = await startRealCluster({ audit: true });
  const identities = createIdentities(real);
  const closing = [() => real.close(), () => identities.close()];
  const admin = await identities.clientAs('admin', ['system:masters']);
  const file = (name: string) => join(sharedData, 'crds', `${name}.crd.yaml`);
  const files = [
    ...crdFiles[options.featureSet],
    ...['clusteroperators', 'imagedigestmirrorsets', 'infrastructures'],
    ...(options.internalReleaseImage === true ? ['internalreleaseimages'] : []),
  ];
  const read = (path: string) => parseManifests(readFileSync(path, 'utf8'), path);
  await installObjects(
    admin,
    files.flatMap((name) => read(file(name))),
  );
  await installObjects(admin, openDefinitions.map(openDefinition));
  for (const object of platformObjects(read)) await applyObject(admin, object);
  const client = await connect(loadKubeconfig(real.kubeconfig), { installs: true });
  closing.push(() => client.close());
  await client.create(client.kinds.ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: '8f9c2e4a-6f3a-4b0e-9d0c-1f2e3d4c5b6a', channel: 'stable-4.16' },
  });
  await nameRegistries(client);
  const shipped = shippedObjects({
    platform: 'openshift',
    machineConfigOperatorServes: options.internalReleaseImage === true,
  });
  await installObjects(client, shipped);
  const { token } = await client.createToken('openshift-cluster-version', 'cluster-version-operator');
  return {
    real,
    client,
    operator: identities.clientWithToken(token),
    shipped,
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}

/** The name by which the installation has its nodes reach the control plane. */
export const apiInt = 'api-int.lab.example.com';

async function nameRegistries(client: KubeClient): Promise<void> {
  const kind = await client.resolveKind('config.openshift.io/v1', 'Infrastructure');
  if (kind === undefined) throw new Error('no Infrastructure is served');
  const created = await client.create(kind, {
    metadata: { name: 'cluster' },
    spec: { platformSpec: { type: 'None' } },
  } as never);
  await client.updateStatus(kind, {
    ...created,
    status: {
      infrastructureName: 'lab-x',
      apiServerURL: 'https://api.lab.example.com:6443',
      apiServerInternalURI: `https://${apiInt}:6443`,
      etcdDiscoveryDomain: '',
      controlPlaneTopology: 'HighlyAvailable',
      infrastructureTopology: 'HighlyAvailable',
    },
  } as never);
}

/** Namespaces, and the rights of the cluster-version operator, from the payload's own manifests. */
function platformObjects(read: (path: string) => AnyObject[]): AnyObject[] {
  const directory = join(sharedData, 'payload', 'cluster-version-operator');
  const files = readdirSync(directory).filter((name) =>
    /_(namespace|roles-.*|service_account-.*|adminack_configmap|admingate_configmap)\.yaml$/.test(name),
  );
  const namespaces = [
    'openshift-cluster-version',
    'openshift-config',
    'openshift-config-managed',
    'openshift-machine-config-operator',
  ];
  const objects = files.sort().flatMap((name) => read(join(directory, name)));
  return [
    ...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...objects.filter(({ kind }) => kind !== 'Namespace'),
  ] as AnyObject[];
}

/** The platform's own kinds whose schemas are not among the reference data, as far as they are used: group/version, kind. */
const openDefinitions = [
  ['machineconfiguration.openshift.io/v1', 'MachineConfigPool'],
  ['machineconfiguration.openshift.io/v1', 'MachineConfig'],
  ['operator.openshift.io/v1', 'Etcd'],
  ['operator.openshift.io/v1alpha1', 'EtcdBackup'],
  ['apiserver.openshift.io/v1', 'APIRequestCount'],
] as const;

function openDefinition([apiVersion, kind]: (typeof openDefinitions)[number]): AnyObject {
  const [group, name] = apiVersion.split('/');
  const plural = `${kind.toLowerCase()}s`;
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  } as unknown as AnyObject;
}
