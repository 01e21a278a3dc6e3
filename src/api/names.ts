import type { Platform } from './kinds.ts';

/** Names of objects and namespaces that several rooms must agree on. */
export interface Names {
  /** Where the update controller and UpdatePreflights live. */
  readonly clusterVersionNamespace: string;
  /** Where preflight Jobs run. */
  readonly preflightNamespace: string;
  readonly preflightServiceAccount: string;
  /** What people configure: trusted keys, admin-acks. */
  readonly configNamespace: string;
  /** What payloads configure: admin-gates, release signatures. */
  readonly configManagedNamespace: string;
  /** Where the registry's secrets and content objects are. */
  readonly machineConfigNamespace: string;
  /** ConfigMap in configNamespace; keys `*.pub`, SPKI PEM. */
  readonly trustedKeys: string;
  /** ConfigMap in machineConfigNamespace, and PolicyFacts for the release guard: names and digests that nothing may remove. */
  readonly inUse: string;
  /** PolicyFacts on OpenShift: the releases whose preflight has passed (update-gate policy). */
  readonly updateGate: string;
  /** ConfigMap in configManagedNamespace, and its answer in configNamespace. */
  readonly adminGates: string;
  readonly adminAcks: string;
  /** Secret in machineConfigNamespace: `htpasswd` and `password`. */
  readonly registrySecret: string;
  /** Secret in machineConfigNamespace: `tls.crt` and `tls.key`. */
  readonly registryTlsSecret: string;
  /** ConfigMap in machineConfigNamespace: `ca-bundle.crt`. */
  readonly registryCa: string;
  /** Where no platform makes them, Secrets in machineConfigNamespace: the authority of the registries, and a client of them. */
  readonly registryAuthoritySecret: string;
  readonly registryClientSecret: string;
  /** Secret in clusterVersionNamespace of plain Kubernetes: what is shown to the fleet lock. */
  readonly lockSecret: string;
  /** The ImageDigestMirrorSet that lists every control-plane node. */
  readonly mirrorSet: string;
  /** The TLS name of every node's registry; never resolved in standalone. On OpenShift: `createApiInt` of release/. */
  readonly apiInt: string;
  readonly registryPort: number;
  readonly registryUser: string;
  /** Singletons. */
  readonly clusterVersion: string;
  readonly internalReleaseImage: string;
}

const shared = {
  preflightServiceAccount: 'preflight-reader',
  trustedKeys: 'sluice-trusted-keys',
  inUse: 'sluice-in-use',
  updateGate: 'sluice-update-gate',
  adminGates: 'admin-gates',
  adminAcks: 'admin-acks',
  registrySecret: 'internal-release-image-registry-auth',
  registryTlsSecret: 'internal-release-image-tls',
  registryCa: 'machine-config-server-ca',
  registryAuthoritySecret: 'sluice-registry-authority',
  registryClientSecret: 'sluice-registry-client',
  lockSecret: 'sluice-fleet-lock',
  mirrorSet: 'internal-release-image',
  apiInt: 'api-int.sluice.internal',
  registryPort: 22625,
  registryUser: 'openshift',
  clusterVersion: 'version',
  internalReleaseImage: 'cluster',
};

/** Also those of standalone. */
const openshiftNamespaces = {
  clusterVersionNamespace: 'openshift-cluster-version',
  preflightNamespace: 'openshift-update-preflight',
  configNamespace: 'openshift-config',
  configManagedNamespace: 'openshift-config-managed',
  machineConfigNamespace: 'openshift-machine-config-operator',
};

const standaloneNames: Names = { ...shared, ...openshiftNamespaces };

/** What the machine-config operator calls its own is never written there. */
const openshiftNames: Names = {
  ...standaloneNames,
  registryTlsSecret: 'sluice-registry-tls',
  registryCa: 'sluice-registry-ca',
};

const kubernetesNames: Names = {
  ...shared,
  clusterVersionNamespace: 'sluice-system',
  preflightNamespace: 'sluice-preflight',
  configNamespace: 'sluice-system',
  configManagedNamespace: 'sluice-system',
  machineConfigNamespace: 'sluice-system',
};

const namesOf: Readonly<Record<Platform, Names>> = {
  standalone: standaloneNames,
  kubernetes: kubernetesNames,
  openshift: openshiftNames,
};

/** The names on this platform: standalone uses OpenShift's, plain Kubernetes a namespace of our own. */
export function names(platform: Platform): Names {
  return namesOf[platform];
}

/** Labels that Sluice reads or sets. */
export const labels = {
  controlPlane: 'node-role.kubernetes.io/control-plane',
  worker: 'node-role.kubernetes.io/worker',
  hostname: 'kubernetes.io/hostname',
  /** On everything that one preflight run made; the value is the run id. */
  preflightRun: 'sluice.dev/preflight-run',
  preflightCheck: 'sluice.dev/preflight-check',
  /** On a CatalogSource or ClusterCatalog that `sluice release catalogs` made. */
  catalog: 'sluice.dev/catalog',
  /** On a ConfigMap with OpenPGP signatures that Sluice wrote; the value is the first 12 digits of the payload. */
  releaseSignatures: 'sluice.dev/release-signatures',
  /** On what Sluice installed; the value is the component. */
  partOf: 'app.kubernetes.io/part-of',
} as const;

/** The value of the label `partOf`. */
export const partOf = 'sluice';

/** Annotations that Sluice reads or sets. */
export const annotations = {
  /** "true" on a Job manifest of a payload: a preflight check, never applied as part of the update. */
  preflightCheck: 'openshift.io/preflight-check',
  /** Exact further reads that a check asks for: 'group/resource/namespace/name,…'. */
  preflightReads: 'sluice.dev/preflight-reads',
  /** On a Node: who cordoned it, so that nobody else's cordon is lifted. */
  cordonedBy: 'sluice.dev/cordoned-by',
  /** On a MachineConfigPool: who paused it, so that nobody else's pause is lifted. */
  pausedBy: 'sluice.dev/paused-by',
  /** On a MachineConfigPool: when its nodes may be updated, as src/rollout/pool-windows.ts reads it. */
  windows: 'sluice.dev/windows',
  /** On a MachineConfigPool: the IANA name of the zone of its windows; absent: UTC. */
  windowTimeZone: 'sluice.dev/window-time-zone',
  /** On a MachineConfigPool: until when a person has opened a window, RFC 3339. */
  windowUntil: 'sluice.dev/window-until',
} as const;

/** Finalizers that Sluice sets. */
export const finalizers = {
  internalReleaseImage: 'internalreleaseimage.machineconfiguration.openshift.io',
  preflight: 'sluice.dev/preflight-cleanup',
} as const;
