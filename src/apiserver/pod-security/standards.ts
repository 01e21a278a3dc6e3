import * as baseline from './baseline.ts';
import type { CheckPod, PodFacts, Violation } from './facts.ts';
import * as restricted from './restricted.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';

/** A level as it was in one version of Kubernetes: the minor number, or the newest that is known. */
export interface Standard {
  readonly level: Level;
  readonly version: number | 'latest';
}

interface Check {
  readonly id: string;
  readonly level: 'baseline' | 'restricted';
  /** From which minor version on it is which, rising. */
  readonly since: readonly (readonly [minor: number, check: CheckPod])[];
  /** The check of the level baseline whose place it takes. */
  readonly replaces?: string;
}

const sysctls1_0 =
  'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start'.split(
    ' ',
  );
const sysctls1_27 = [...sysctls1_0, 'net.ipv4.ip_local_reserved_ports'];
const sysctls1_29 = [
  ...sysctls1_27,
  ...'net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes'.split(
    ' ',
  ),
];
const sysctls1_32 = [...sysctls1_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];
const seLinuxTypes = ['container_t', 'container_init_t', 'container_kvm_t'];

const { exceptWindows } = restricted;

/** Every check, in the order in which they are told: those of baseline before those of restricted, each by id. */
const checks: readonly Check[] = [
  { id: 'appArmorProfile', level: 'baseline', since: [[0, baseline.appArmorProfile]] },
  { id: 'capabilities_baseline', level: 'baseline', since: [[0, baseline.ordinaryCapabilitiesOnly]] },
  { id: 'hostNamespaces', level: 'baseline', since: [[0, baseline.hostNamespaces]] },
  { id: 'hostPathVolumes', level: 'baseline', since: [[0, baseline.hostPathVolumes]] },
  { id: 'hostPorts', level: 'baseline', since: [[0, baseline.hostPorts]] },
  { id: 'hostProbesAndHostLifecycle', level: 'baseline', since: [[34, baseline.hostProbes]] },
  { id: 'privileged', level: 'baseline', since: [[0, baseline.privileged]] },
  { id: 'procMount', level: 'baseline', since: [[0, baseline.procMount]] },
  {
    id: 'seLinuxOptions',
    level: 'baseline',
    since: [
      [0, baseline.seLinuxOptions(seLinuxTypes)],
      [31, baseline.seLinuxOptions([...seLinuxTypes, 'container_engine_t'])],
    ],
  },
  {
    id: 'seccompProfile_baseline',
    level: 'baseline',
    since: [
      [0, baseline.seccompAnnotations],
      [19, baseline.wrongSeccomp],
    ],
  },
  {
    id: 'sysctls',
    level: 'baseline',
    since: [
      [0, baseline.sysctls(sysctls1_0)],
      [27, baseline.sysctls(sysctls1_27)],
      [29, baseline.sysctls(sysctls1_29)],
      [32, baseline.sysctls(sysctls1_32)],
    ],
  },
  { id: 'windowsHostProcess', level: 'baseline', since: [[0, baseline.windowsHostProcess]] },
  {
    id: 'allowPrivilegeEscalation',
    level: 'restricted',
    since: [
      [8, restricted.allowPrivilegeEscalation],
      [25, exceptWindows(restricted.allowPrivilegeEscalation)],
    ],
  },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    replaces: 'capabilities_baseline',
    since: [
      [22, restricted.noCapabilities],
      [25, exceptWindows(restricted.noCapabilities)],
    ],
  },
  {
    id: 'restrictedVolumes',
    level: 'restricted',
    replaces: 'hostPathVolumes',
    since: [[0, restricted.restrictedVolumes]],
  },
  { id: 'runAsNonRoot', level: 'restricted', since: [[0, restricted.runAsNonRoot]] },
  { id: 'runAsUser', level: 'restricted', since: [[23, restricted.runAsUser]] },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    replaces: 'seccompProfile_baseline',
    since: [
      [19, restricted.seccompRequired],
      [25, exceptWindows(restricted.seccompRequired)],
    ],
  },
];

/** What of a Pod is against a standard, in the order and words of a real API server. */
export function violations({ level, version }: Standard, pod: PodFacts): Violation[] {
  if (level === 'privileged') return [];
  const minor = version === 'latest' ? Number.POSITIVE_INFINITY : version;
  const acting = checks.flatMap(({ id, level: of, since, replaces }) => {
    const check = since.findLast(([from]) => from <= minor)?.[1];
    return check === undefined || (level === 'baseline' && of === 'restricted')
      ? []
      : [{ id, check, replaces }];
  });
  const replaced = new Set(acting.map(({ replaces }) => replaces));
  return acting
    .filter(({ id }) => !replaced.has(id))
    .map(({ check }) => check(pod))
    .filter((found) => found !== undefined);
}

/** `restricted:latest`, `baseline:v1.30` */
export function standardText({ level, version }: Standard): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`;
}
