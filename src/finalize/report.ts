import { rfc3339 } from '../observe/clock.ts';
import type { Facts } from './decide.ts';
import { windowFacts } from './decide.ts';
import type { OsDeployment, OsDriver, OsStatus } from './driver.ts';
import { foreignText, type Hold, type ReportedHold, reportHolds } from './hold.ts';
import type { AgentState } from './states.ts';
import type { WeeklyWindow } from './weekly.ts';
import { nextPossible } from './windows.ts';

/** What a person sees of a node's agent. */
export interface AgentReport {
  readonly state: AgentState;
  readonly holds: readonly ReportedHold[];
  /** When it could reboot at the earliest, RFC 3339; absent where no time is known. */
  readonly nextPossible?: string;
  readonly os: OsStatus;
  readonly bootID: string;
  readonly driver: OsDriver['name'];
  readonly strategies: readonly string[];
  /** False where updates are disabled by configuration. */
  readonly enabled: boolean;
  /** The version, or the digest, of what should be booted and is not staged yet; and how often in a row that failed. */
  readonly staging?: { readonly release: string; readonly failures: number };
  /** The weekly windows, where the strategy `periodic` is in force. */
  readonly calendar?: { readonly timeZone: string; readonly windows: readonly WeeklyWindow[] };
  /** When the window of the cluster would have ended that is closed here already, RFC 3339. */
  readonly closedWindow?: string;
  readonly configWarnings: readonly string[];
}

/** A version is a label of an image, which anybody may have built. */
function plainVersions({ booted, staged, ...rest }: OsStatus): OsStatus {
  const plain = (of: OsDeployment): OsDeployment =>
    of.version === undefined ? of : { ...of, version: foreignText(of.version, versionCharsMax) };
  return {
    ...rest,
    ...(booted === undefined ? {} : { booted: plain(booted) }),
    ...(staged === undefined ? {} : { staged: plain(staged) }),
  };
}

const versionCharsMax = 128;

function stagingOf({ desired, os, stagingFailures = 0 }: Facts): Pick<AgentReport, 'staging'> {
  const isThere = [os.booted, os.staged].some((each) => each?.digest === desired?.digest);
  if (desired === undefined || isThere) return {};
  const release = foreignText(desired.version ?? desired.digest, versionCharsMax);
  return { staging: { release, failures: stagingFailures } };
}

/** Makes the reports of one agent: each hold keeps the time since which it stands. */
export function createReports(
  driver: OsDriver['name'],
): (state: AgentState, holds: readonly Hold[], facts: Facts) => AgentReport {
  let before: readonly ReportedHold[] = [];
  return (state, holds, facts) => {
    before = reportHolds(holds, before, rfc3339(facts.now));
    const next = nextPossible(holds, windowFacts(facts));
    return {
      state,
      holds: before,
      ...(next === undefined ? {} : { nextPossible: rfc3339(next) }),
      os: plainVersions(facts.os),
      bootID: facts.bootID,
      driver,
      strategies: facts.config.config.strategies,
      enabled: facts.config.config.enabled,
      ...stagingOf(facts),
      ...(facts.schedule === undefined
        ? {}
        : { calendar: { timeZone: facts.schedule.zone.name, windows: facts.schedule.windows } }),
      ...(facts.closedWindow === undefined ? {} : { closedWindow: rfc3339(facts.closedWindow * 1000) }),
      configWarnings: facts.config.warnings,
    };
  };
}
