import { isRecord, type JsonRecord, list, record } from '../object.ts';
import {
  type CheckPod,
  type ContainerFacts,
  containersWhere,
  distinct,
  named,
  type PodFacts,
  plural,
  quoted,
  setters,
  type Violation,
} from './facts.ts';

/** The checks of the level baseline, in the words of k8s.io/pod-security-admission/policy. */

export const hostNamespaces: CheckPod = ({ spec }) => {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
};

export const privileged: CheckPod = (pod) => {
  const bad = containersWhere(pod, ({ securityContext }) => securityContext.privileged === true);
  return bad.length === 0
    ? undefined
    : {
        reason: 'privileged',
        detail: `${named('container', bad)} must not set securityContext.privileged=true`,
      };
};

const ordinaryCapabilities = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);

export function capabilities(container: ContainerFacts, what: 'add' | 'drop'): string[] {
  return list(record(container.securityContext.capabilities)[what]).map(String);
}

export const ordinaryCapabilitiesOnly: CheckPod = (pod) => {
  const extra = (container: ContainerFacts) =>
    capabilities(container, 'add').filter((one) => !ordinaryCapabilities.has(one));
  const bad = containersWhere(pod, (container) => extra(container).length > 0);
  if (bad.length === 0) return undefined;
  const added = quoted(distinct(pod.containers.flatMap(extra)));
  return {
    reason: 'non-default capabilities',
    detail: `${named('container', bad)} must not include ${added} in securityContext.capabilities.add`,
  };
};

export const hostPathVolumes: CheckPod = ({ spec }) => {
  const bad = list(spec.volumes)
    .map(record)
    .filter(({ hostPath }) => isRecord(hostPath))
    .map(({ name }) => String(name));
  return bad.length === 0 ? undefined : { reason: 'hostPath volumes', detail: named('volume', bad) };
};

export const hostPorts: CheckPod = (pod) => {
  const ports = ({ container }: ContainerFacts) =>
    list(container.ports)
      .map((port) => Number(record(port).hostPort ?? 0))
      .filter((port) => port !== 0)
      .map(String);
  const bad = containersWhere(pod, (container) => ports(container).length > 0);
  if (bad.length === 0) return undefined;
  const used = distinct(pod.containers.flatMap(ports));
  const use = bad.length === 1 ? 'uses' : 'use';
  return {
    reason: 'hostPort',
    detail: `${named('container', bad)} ${use} ${plural('hostPort', used.length)} ${used.join(', ')}`,
  };
};

/** A probe or hook that calls another host would make the kubelet a proxy. */
export const hostProbes: CheckPod = (pod) => {
  const hosts = ({ container }: ContainerFacts) => {
    const lifecycle = record(container.lifecycle);
    return [
      container.livenessProbe,
      container.readinessProbe,
      container.startupProbe,
      lifecycle.postStart,
      lifecycle.preStop,
    ]
      .map(record)
      .flatMap(({ httpGet, tcpSocket }) => [record(httpGet).host, record(tcpSocket).host])
      .filter((host) => typeof host === 'string' && host !== '')
      .map(String);
  };
  const bad = distinct(containersWhere(pod, (container) => hosts(container).length > 0));
  if (bad.length === 0) return undefined;
  const called = distinct(pod.containers.flatMap(hosts));
  const use = bad.length === 1 ? 'uses' : 'use';
  const what = plural('probe or lifecycle host', called.length);
  return {
    reason: 'probe or lifecycle host',
    detail: `${named('container', bad)} ${use} ${what} ${quoted(called)}`,
  };
};

export const procMount: CheckPod = (pod) => {
  const set = ({ securityContext }: ContainerFacts) => securityContext.procMount;
  const wrong = (container: ContainerFacts) =>
    typeof set(container) === 'string' && set(container) !== 'Default';
  const bad = containersWhere(pod, wrong);
  if (bad.length === 0) return undefined;
  const types = quoted(distinct(pod.containers.filter(wrong).map((container) => String(set(container)))));
  return {
    reason: 'procMount',
    detail: `${named('container', bad)} must not set securityContext.procMount to ${types}`,
  };
};

const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/';

export const appArmorProfile: CheckPod = (pod) => {
  const type = (context: JsonRecord) => profileType(context, 'appArmorProfile');
  const wrong = (context: JsonRecord) =>
    type(context) !== undefined && type(context) !== 'RuntimeDefault' && type(context) !== 'Localhost';
  const containers = containersWhere(pod, ({ securityContext }) => wrong(securityContext));
  const contexts = [pod.securityContext, ...pod.containers.map(({ securityContext }) => securityContext)];
  const annotations = Object.entries(pod.annotations)
    .filter(
      ([key, value]) =>
        key.startsWith(appArmorAnnotation) && !/^$|^runtime\/default$|^localhost\//.test(String(value)),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const who = [
    setters(wrong(pod.securityContext), containers),
    ...(annotations.length > 0 ? [plural('annotation', annotations.length)] : []),
  ].filter((one) => one !== undefined);
  if (who.length === 0) return undefined;
  const values = [...distinct(contexts.filter(wrong).map((context) => type(context) ?? '')), ...annotations];
  return {
    reason: plural('forbidden AppArmor profile', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

/** The type of a profile in a security context: undefined where there is no profile, '' where it has no type. */
export function profileType(context: JsonRecord, profile: string): string | undefined {
  const value = context[profile];
  return isRecord(value) ? String(value.type ?? '') : undefined;
}

export function validSeccomp(type: string | undefined): boolean {
  return type === 'RuntimeDefault' || type === 'Localhost';
}

/** Who sets a seccomp profile that is none of the allowed ones, and which. */
export function wrongSeccomp(pod: PodFacts): Violation | undefined {
  const type = (context: JsonRecord) => profileType(context, 'seccompProfile');
  const wrong = (context: JsonRecord) => type(context) !== undefined && !validSeccomp(type(context));
  const containers = containersWhere(pod, ({ securityContext }) => wrong(securityContext));
  const who = setters(wrong(pod.securityContext), containers);
  if (who === undefined) return undefined;
  const contexts = [pod.securityContext, ...pod.containers.map(({ securityContext }) => securityContext)];
  const values = distinct(contexts.filter(wrong).map((context) => type(context) ?? ''));
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  };
}

const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainerAnnotation = 'container.seccomp.security.alpha.kubernetes.io/';

/** As it was before seccomp profiles became fields. */
export const seccompAnnotations: CheckPod = (pod) => {
  const keys = [seccompPodAnnotation, ...pod.containers.map(({ name }) => seccompContainerAnnotation + name)];
  const bad = keys
    .filter((key) => Object.hasOwn(pod.annotations, key))
    .map((key) => [key, String(pod.annotations[key])] as const)
    .filter(([, value]) => !/^runtime\/default$|^docker\/default$|^localhost\//.test(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  if (bad.length === 0) return undefined;
  const said = distinct(bad);
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${plural('annotation', said.length)} ${said.join(', ')}`,
  };
};

/** SELinux types are kept to `allowed`; users and roles are not set at all. */
export function seLinuxOptions(allowed: readonly string[]): CheckPod {
  return (pod) => {
    const options = (context: JsonRecord) => record(context.seLinuxOptions);
    const text = (context: JsonRecord, field: string) => String(options(context)[field] ?? '');
    const badType = (context: JsonRecord) => !['', ...allowed].includes(text(context, 'type'));
    const wrong = (context: JsonRecord) =>
      badType(context) || text(context, 'user') !== '' || text(context, 'role') !== '';
    const containers = containersWhere(pod, ({ securityContext }) => wrong(securityContext));
    const who = setters(wrong(pod.securityContext), containers);
    if (who === undefined) return undefined;
    const contexts = [pod.securityContext, ...pod.containers.map(({ securityContext }) => securityContext)];
    const types = distinct(contexts.filter(badType).map((context) => text(context, 'type')));
    const what = [
      ...(types.length > 0 ? [named('type', types)] : []),
      ...['user', 'role']
        .filter((field) => contexts.some((context) => text(context, field) !== ''))
        .map((field) => `${field} may not be set`),
    ];
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
    };
  };
}

export function sysctls(allowed: readonly string[]): CheckPod {
  return ({ securityContext }) => {
    const bad = list(securityContext.sysctls)
      .map((sysctl) => String(record(sysctl).name))
      .filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };
}

export const windowsHostProcess: CheckPod = (pod) => {
  const wrong = (context: JsonRecord) => record(context.windowsOptions).hostProcess === true;
  const containers = containersWhere(pod, ({ securityContext }) => wrong(securityContext));
  const who = setters(wrong(pod.securityContext), containers);
  return who === undefined
    ? undefined
    : {
        reason: 'hostProcess',
        detail: `${who} must not set securityContext.windowsOptions.hostProcess=true`,
      };
};
