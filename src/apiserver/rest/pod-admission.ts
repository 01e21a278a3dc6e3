import { type KubeObject, list, record } from '../object.ts';
import { forbidden } from '../status.ts';
import type { Engine } from './engine.ts';
import { generateName } from './names.ts';
import { readObject, readObjects } from './read.ts';

/** Where Pods find their ServiceAccount. */
const accountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Seconds that the token of a Pod lives; the odd ones tell it from one that was asked for. */
const tokenSeconds = 3_607;

/**
 * What the admission plugins of the real server do to each new Pod: ServiceAccount (its token and the cluster's CA
 * are mounted) and Priority (a class becomes a number). In place. @throws 403
 */
export function admitPod(engine: Engine, pod: KubeObject): void {
  applyPriority(engine, pod);
  mountAccount(engine, pod);
}

function mountAccount(engine: Engine, pod: KubeObject): void {
  const spec = record(pod.spec);
  const namespace = pod.metadata.namespace ?? '';
  const name = String(spec.serviceAccountName || 'default');
  const account = readObject(engine, engine.resources.builtIn('v1', 'serviceaccounts'), namespace, name);
  if (account === undefined) {
    // Without the controller that makes the default one, as in tests of the API alone, its Pods do without.
    if (name === 'default') return;
    const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
    throw forbidden(engine.resources.builtIn('v1', 'pods'), pod.metadata.name, why);
  }
  const secrets = list(account.imagePullSecrets);
  if (list(spec.imagePullSecrets).length === 0 && secrets.length > 0) spec.imagePullSecrets = secrets;
  if ((spec.automountServiceAccountToken ?? account.automountServiceAccountToken) === false) return;
  const containers = [...list(spec.initContainers), ...list(spec.containers)].map(record);
  const lacking = containers.filter(
    ({ volumeMounts }) => !list(volumeMounts).some((mount) => record(mount).mountPath === accountPath),
  );
  if (lacking.length === 0) return;
  const volume = generateName('kube-api-access-');
  for (const container of lacking) {
    const mount = { name: volume, readOnly: true, mountPath: accountPath };
    container.volumeMounts = [...list(container.volumeMounts), mount];
  }
  const sources = [
    { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: {
        items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
      },
    },
  ];
  spec.volumes = [...list(spec.volumes), { name: volume, projected: { sources, defaultMode: 0o644 } }];
}

function applyPriority(engine: Engine, pod: KubeObject): void {
  const spec = record(pod.spec);
  const classes = engine.resources.builtIn('scheduling.k8s.io/v1', 'priorityclasses');
  const named = spec.priorityClassName;
  const found =
    typeof named === 'string' && named !== ''
      ? readObject(engine, classes, '', named)
      : readObjects(engine, classes, '').find((one) => one.globalDefault === true);
  if (found === undefined) {
    if (typeof named !== 'string' || named === '') return;
    const why = `no PriorityClass with name ${named} was found`;
    throw forbidden(engine.resources.builtIn('v1', 'pods'), pod.metadata.name, why);
  }
  spec.priorityClassName = found.metadata.name;
  spec.priority = found.value;
  spec.preemptionPolicy = found.preemptionPolicy ?? 'PreemptLowerPriority';
}
