import { list, record } from '../object.ts';
import { capabilities, profileType, validSeccomp, wrongSeccomp } from './baseline.ts';
import {
  type CheckPod,
  type ContainerFacts,
  containersWhere,
  distinct,
  named,
  plural,
  quoted,
  setters,
} from './facts.ts';

/** The checks of the level restricted, in the words of k8s.io/pod-security-admission/policy. */

export const allowPrivilegeEscalation: CheckPod = (pod) => {
  const bad = containersWhere(
    pod,
    ({ securityContext }) => securityContext.allowPrivilegeEscalation !== false,
  );
  return bad.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${named('container', bad)} must set securityContext.allowPrivilegeEscalation=false`,
      };
};

export const noCapabilities: CheckPod = (pod) => {
  const extra = (container: ContainerFacts) =>
    capabilities(container, 'add').filter((one) => one !== 'NET_BIND_SERVICE');
  const keeping = containersWhere(pod, (container) => !capabilities(container, 'drop').includes('ALL'));
  const adding = containersWhere(pod, (container) => extra(container).length > 0);
  const details: string[] = [];
  if (keeping.length > 0) {
    details.push(`${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  }
  if (adding.length > 0) {
    const added = quoted(distinct(pod.containers.flatMap(extra)));
    details.push(
      `${named('container', adding)} must not include ${added} in securityContext.capabilities.add`,
    );
  }
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const volumeTypes = new Set(
  'configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret'.split(' '),
);
const otherVolumeTypes =
  'hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos'.split(
    ' ',
  );

export const restrictedVolumes: CheckPod = ({ spec }) => {
  const bad = list(spec.volumes)
    .map(record)
    .filter(
      (volume) => !Object.keys(volume).some((field) => volumeTypes.has(field) && volume[field] !== null),
    );
  if (bad.length === 0) return undefined;
  const types = distinct(
    bad.map((volume) => otherVolumeTypes.find((type) => (volume[type] ?? null) !== null) ?? 'unknown'),
  );
  const names = bad.map(({ name }) => String(name));
  const use = names.length === 1 ? 'uses' : 'use';
  return {
    reason: 'restricted volume types',
    detail: `${named('volume', names)} ${use} ${plural('restricted volume type', types.length)} ${quoted(types)}`,
  };
};

export const runAsNonRoot: CheckPod = (pod) => {
  const reason = 'runAsNonRoot != true';
  const bad = containersWhere(pod, ({ securityContext }) => securityContext.runAsNonRoot === false);
  const who = setters(pod.securityContext.runAsNonRoot === false, bad);
  if (who !== undefined) return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  if (pod.securityContext.runAsNonRoot === true) return undefined;
  const silent = containersWhere(pod, ({ securityContext }) => securityContext.runAsNonRoot !== true);
  return silent.length === 0
    ? undefined
    : { reason, detail: `pod or ${named('container', silent)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: CheckPod = (pod) => {
  const bad = containersWhere(pod, ({ securityContext }) => securityContext.runAsUser === 0);
  const who = setters(pod.securityContext.runAsUser === 0, bad);
  return who === undefined ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
};

export const seccompRequired: CheckPod = (pod) => {
  const wrong = wrongSeccomp(pod);
  if (wrong !== undefined) return wrong;
  if (validSeccomp(profileType(pod.securityContext, 'seccompProfile'))) return undefined;
  const silent = containersWhere(
    pod,
    ({ securityContext }) => profileType(securityContext, 'seccompProfile') === undefined,
  );
  return silent.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${named('container', silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      };
};

/** From 1.25 on: what Windows does not have is not asked of its Pods. */
export function exceptWindows(check: CheckPod): CheckPod {
  return (pod) => (record(pod.spec.os).name === 'windows' ? undefined : check(pod));
}
