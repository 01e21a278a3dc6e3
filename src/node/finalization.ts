import type { Condition } from '../api/core.ts';
import type { NodeUpdate, NodeUpdateStatusCalendar } from '../api/resources.ts';
import type { Desired } from '../finalize/agent.ts';
import { type ClockEvidence, clockSkewMsMax } from '../finalize/clock-trust.ts';
import type { AgentReport } from '../finalize/report.ts';
import type { KubeClient } from '../kube/client.ts';
import { type ConditionUpdate, setCondition } from '../kube/conditions.ts';
import type { Clock } from '../observe/clock.ts';
import { parseReference } from '../oci/reference.ts';

/** What NodeUpdate.spec asks of the node's agent; undefined while the object is not known. Pure. */
export function desiredOf(update: NodeUpdate | undefined): Desired | undefined {
  if (update === undefined) return undefined;
  const { osImage, window } = update.spec ?? {};
  const digest = osImage === undefined ? undefined : parseReference(osImage).digest;
  return {
    ...(osImage === undefined || digest === undefined ? {} : { image: osImage, digest }),
    ...(window === undefined
      ? {}
      : {
          window: {
            notAfter: Math.floor(Date.parse(window.notAfter) / 1000),
            ...(window.once === undefined ? {} : { once: window.once }),
            ...(window.release === undefined ? {} : { release: window.release }),
          },
        }),
  };
}

/** The agent's part of NodeUpdate.status; null takes a field away (RFC 7396). Pure. */
export function statusOf(
  report: AgentReport,
  agentVersion: string,
  conditions: Condition[] | undefined,
  now: number,
): object {
  const deployment = (of: AgentReport['os']['booted']) =>
    of === undefined ? null : { image: of.image, version: of.version ?? null };
  return {
    agent: agentVersion,
    driver: report.driver,
    bootID: report.bootID,
    state: report.state,
    strategies: report.strategies,
    calendar: calendarOf(report),
    closedWindow: report.closedWindow ?? null,
    message: messageOf(report),
    booted: deployment(report.os.booted),
    staged: deployment(report.os.staged),
    holds: report.holds,
    nextPossible: report.nextPossible ?? null,
    conditions: conditionsOf(report).reduce((all, each) => setCondition(all, each, now), conditions ?? []),
  };
}

const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

function calendarOf({ calendar }: AgentReport): NodeUpdateStatusCalendar | null {
  if (calendar === undefined) return null;
  const two = (value: number) => String(value).padStart(2, '0');
  return {
    timeZone: calendar.timeZone,
    windows: calendar.windows.map(({ startMinute, lengthMinutes }) => ({
      day: dayNames[Math.floor(startMinute / 1440)] ?? 'Mon',
      start: `${two(Math.floor((startMinute % 1440) / 60))}:${two(startMinute % 60)}`,
      minutes: lengthMinutes,
    })),
  };
}

/** Whether the node does its work, waits, or needs a person, each in one sentence. Pure. */
function conditionsOf(report: AgentReport): ConditionUpdate[] {
  const [first] = report.holds;
  const needsPerson = report.holds.find(({ gate }) => gate === 'config' || gate === 'staged');
  return [
    {
      type: 'Updated',
      status: report.state === 'Idle' ? 'True' : 'False',
      reason: report.state === 'Idle' ? 'AsDesired' : 'UpdatePending',
      message: messageOf(report),
    },
    {
      type: 'Held',
      status: first === undefined ? 'False' : 'True',
      reason: first?.reason ?? 'NothingHolds',
      message:
        first === undefined
          ? 'nothing holds this node'
          : report.holds.map(({ gate, message }) => `${gate}: ${message}`).join('; '),
    },
    {
      type: 'Degraded',
      status: needsPerson === undefined ? 'False' : 'True',
      reason: needsPerson?.reason ?? 'AsExpected',
      message: needsPerson?.message ?? 'the agent does its work',
    },
  ];
}

/** Where releases have no OS image, as the smallest ones, there is nothing that a node could boot. */
const noSystem = 'runs no OS image of a release; a release that has none reboots no node';

function messageOf(report: AgentReport): string {
  const version = report.os.staged?.version ?? report.os.staged?.digest ?? '';
  switch (report.state) {
    case 'Idle': {
      const { booted } = report.os;
      if (booted === undefined) return noSystem;
      return `runs ${booted.version ?? booted.digest}`;
    }
    case 'Staging':
      return 'downloads and stages the new system';
    case 'Finalizing':
      return `reboots into ${version}`;
    case 'Held':
    case 'WaitingForSlot':
      return `${version} is staged; ${report.holds[0]?.message ?? ''}`;
  }
}

/** Writes the agent's reports into NodeUpdate.status; the same words are not sent twice to the same object. */
export function createReporter(
  client: KubeClient,
  nodeName: string,
  agentVersion: string,
  clock: Clock,
): (report: AgentReport) => Promise<void> {
  const { NodeUpdate } = client.kinds;
  let sent: { readonly text: string; readonly uid: string | undefined } | undefined;
  let conditions: Condition[] | undefined;
  return async (report) => {
    const text = JSON.stringify(report);
    if (text === sent?.text) {
      // Nothing new is worth an error; but somebody may have deleted the object, and this is another one.
      const standing = await client.get<NodeUpdate>(NodeUpdate, nodeName).catch(() => undefined);
      if (standing === undefined || standing.metadata.uid === sent.uid) return;
      conditions = undefined;
    }
    conditions ??= (await client.get<NodeUpdate>(NodeUpdate, nodeName)).status?.conditions ?? [];
    const status = statusOf(report, agentVersion, conditions, clock.now());
    const written = await client.patch<NodeUpdate>(
      NodeUpdate,
      nodeName,
      { status },
      { subresource: 'status' },
    );
    conditions = written.status?.conditions;
    sent = { text, uid: written.metadata.uid };
  };
}

/** The API server's time is asked this often at most. */
const skewAgeMsMax = 60_000;

/**
 * How far this clock is from the API server's.
 * @param serverTime what the server's clock says, in Unix milliseconds; undefined where it does not say.
 */
export function createSkewMeter(
  serverTime: () => Promise<number | undefined>,
  clock: Clock,
): () => Promise<Omit<ClockEvidence, 'declared'>> {
  let known: { readonly at: number; readonly wall: number; readonly skewMs: number } | undefined;
  return async () => {
    const age = known === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - known.at;
    // A clock that was set since it was compared is not the clock that was compared.
    const wasSet = known !== undefined && Math.abs(clock.now() - known.wall - age) > clockSkewMsMax;
    if (known !== undefined && age < skewAgeMsMax && !wasSet) return { skewMs: known.skewMs };
    try {
      const date = await serverTime();
      if (date === undefined) return {};
      known = { at: clock.monotonic(), wall: clock.now(), skewMs: clock.now() - date };
      return { skewMs: known.skewMs };
    } catch {
      return {}; // Unknown: no evidence, so no permission by time.
    }
  };
}
