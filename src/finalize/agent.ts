import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { faultPoint } from '../durable/fault.ts';
import { readJson, writeJson } from '../durable/file.ts';
import { messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import { rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ClockEvidence } from './clock-trust.ts';
import type { LoadedConfig } from './config.ts';
import { loadConfig } from './config-files.ts';
import { decide, type Facts, type Intent, type Step } from './decide.ts';
import type { OsDriver, OsStatus } from './driver.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import { type Hold, type ReportedHold, reportHolds } from './hold.ts';
import { lookAtMarker, type Marker, removeMarker, writeMarker } from './marker.ts';

/** What the agent keeps across restarts, in one file that is durable before each step. */
interface Memory {
  readonly intent?: Intent;
  readonly failures: Readonly<Record<string, number>>;
  /** The window of the cluster that was last turned into a marker, as JSON; '' where none is in force. */
  readonly appliedWindow: string;
}

export type AgentState = 'Idle' | 'Staging' | 'Held' | 'WaitingForSlot' | 'Finalizing';

/** What a person sees of a node's agent. */
export interface AgentReport {
  readonly state: AgentState;
  readonly holds: readonly ReportedHold[];
  readonly os: OsStatus;
  readonly bootID: string;
  readonly driver: OsDriver['name'];
  readonly configWarnings: readonly string[];
}

/** What the cluster wants of this node; from NodeUpdate.spec, or from a local update source. */
export interface Desired {
  readonly image?: string;
  readonly digest?: Digest;
  readonly window?: { readonly notAfter?: number; readonly once?: boolean; readonly release?: string };
}

export interface AgentOptions {
  readonly stateFile: string;
  readonly configDirectories: readonly string[];
  readonly bootID: string;
  /** The id in the fleet lock (identity.ts). */
  readonly lockId: string;
  readonly driver: OsDriver;
  readonly lockClient: {
    preReboot(request: LockRequest): Promise<LockAnswer>;
    steadyState(request: LockRequest): Promise<LockAnswer>;
  };
  readonly blockers: () => Promise<readonly Hold[]>;
  readonly clockEvidence: () => Promise<Omit<ClockEvidence, 'declared'>>;
  /** Undefined while it is not known (the API has not been reached yet): then nothing is decided anew. */
  readonly desired: () => Desired | undefined;
  readonly report: (report: AgentReport) => Promise<void>;
  /** The only uid who may own the marker; root's. */
  readonly markerOwnerUid: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Everything is looked at again at least this often, whatever happened meanwhile (case B14). */
const lookAgainMs = 60_000;
/** Between two questions to a lock server whose slots are taken, plus up to half of it again. */
const lockRetryMs = 2_000;
const failureRetryMs = 5_000;

export interface FinalizationAgent {
  /** Something changed (the desired image, the window): look now. */
  wake(): void;
  /** Runs until the signal aborts. */
  run(): Promise<void>;
}

/** The shell around `decide`: looks at the world, acts on one step, reports, waits for an event or the time. */
export function createFinalizationAgent(options: AgentOptions): FinalizationAgent {
  const { clock, driver, logger, signal } = options;
  let memory: Memory = { failures: {}, appliedWindow: '' };
  let lock: LockAnswer | undefined;
  let reported: readonly ReportedHold[] = [];
  let awaken: () => void = () => {};
  let pending = false;
  const wake = () => {
    pending = true;
    awaken();
  };
  const watcher = createMarkerWatcher(wake);

  async function remember(change: Partial<Memory>): Promise<void> {
    memory = { ...memory, ...change };
    await writeJson(options.stateFile, memory);
    faultPoint('finalize-remembered');
  }

  async function forgetIntent(): Promise<void> {
    const { intent: _, ...rest } = memory;
    memory = rest;
    lock = undefined;
    await writeJson(options.stateFile, memory);
  }

  /** A window of the cluster becomes this node's marker, once for each change of it. */
  async function applyWindow(path: string, desired: Desired): Promise<void> {
    const { window } = desired;
    const text = window === undefined ? '' : JSON.stringify(window);
    if (text === memory.appliedWindow) return;
    if (window === undefined) await removeMarker(path);
    else await writeMarker(path, markerOf(window));
    await remember({ appliedWindow: text });
  }

  async function look(config: LoadedConfig, desired: Desired): Promise<Facts> {
    const { config: rules } = config;
    await applyWindow(rules.marker.path, desired);
    const { image, digest } = desired;
    return {
      config,
      ...(image === undefined || digest === undefined ? {} : { desired: { image, digest } }),
      os: await driver.status(),
      bootID: options.bootID,
      ...(memory.intent === undefined ? {} : { intent: memory.intent }),
      failures: digest === undefined ? 0 : (memory.failures[digest] ?? 0),
      marker: await lookAtMarker(rules.marker.path, {
        allowWithoutExpiry: rules.marker.allowWithoutExpiry,
        ownerUid: options.markerOwnerUid,
      }),
      clock: { declared: rules.clockTrusted, ...(await options.clockEvidence()) },
      blockers: await options.blockers(),
      ...(lock === undefined ? {} : { lock }),
      now: clock.now(),
    };
  }

  async function report(state: AgentState, holds: readonly Hold[], facts: Facts): Promise<void> {
    reported = reportHolds(holds, reported, rfc3339(clock.now()));
    await options.report({
      state,
      holds: reported,
      os: facts.os,
      bootID: options.bootID,
      driver: driver.name,
      configWarnings: facts.config.warnings,
    });
  }

  /** Acts on one step. Returns the milliseconds until the next look, 0 for at once. */
  async function act(step: Step, facts: Facts): Promise<number> {
    switch (step.kind) {
      case 'idle':
        await report('Idle', [], facts);
        return lookAgainMs;
      case 'hold': {
        const waits = step.holds.every((hold) => hold.gate === 'fleet_lock');
        await report(waits ? 'WaitingForSlot' : 'Held', step.holds, facts);
        if (!waits) return lookAgainMs;
        lock = undefined; // The next look asks again.
        return lockRetryMs * (1 + options.random() / 2);
      }
      case 'stage':
        await report('Staging', [], facts);
        logger.info({ image: step.image }, 'staging');
        await driver.stage(step.image, step.digest);
        return 0;
      case 'lock':
        await askForSlot(step, facts);
        return 0;
      case 'release':
        await giveBack(step.intent);
        await forgetIntent();
        return 0;
      case 'confirm':
        await confirm(step.intent, step.booted);
        return 0;
      case 'finalize':
        await finalize(step, facts);
        return lookAgainMs;
    }
  }

  async function askForSlot(step: { image: string; digest: Digest }, facts: Facts): Promise<void> {
    const { baseUrl } = facts.config.config.fleetLock;
    const { group } = facts.config.config.identity;
    const request = { baseUrl, group, id: options.lockId };
    if (memory.intent === undefined) {
      // Durable before the question: whatever happens after it, the slot can be given back.
      const intent = { image: step.image, digest: step.digest, bootID: options.bootID, since: clock.now() };
      await remember({ intent: { ...intent, phase: 'locking', lock: request } });
    }
    lock = await options.lockClient.preReboot(request);
    if (lock.kind === 'granted') logger.info({ group }, 'slot granted');
  }

  async function finalize(step: { digest: Digest; consumeMarker: boolean }, facts: Facts): Promise<void> {
    const previous = memory.intent;
    const image = facts.desired?.image ?? '';
    const base = previous ?? { image, digest: step.digest, bootID: options.bootID };
    await remember({ intent: { ...base, phase: 'finalizing', since: clock.now() } });
    if (step.consumeMarker) await removeMarker(facts.config.config.marker.path);
    await report('Finalizing', [], facts);
    logger.info({ digest: step.digest, driver: driver.name }, 'finalizing');
    try {
      await driver.finalize(step.digest);
    } catch (error) {
      // Refused, not failed: nothing was booted. The slot goes back; the next look decides anew.
      if (previous !== undefined) await giveBack(previous);
      await forgetIntent();
      throw error;
    }
  }

  async function confirm(intent: Intent, booted: boolean): Promise<void> {
    const failures = { ...memory.failures };
    logger.info(
      { digest: intent.digest, booted },
      booted ? 'booted into the update' : 'the update did not boot',
    );
    if (booted) {
      delete failures[intent.digest];
      await remember({ failures });
      await giveBack(intent);
      await forgetIntent();
      return;
    }
    // The slot stays with this node: a release that does not boot must not walk through the fleet (case B24).
    failures[intent.digest] = (failures[intent.digest] ?? 0) + 1;
    await remember({ failures, intent: { ...intent, phase: 'locking', bootID: options.bootID } });
  }

  async function giveBack(intent: Intent): Promise<void> {
    if (intent.lock === undefined) return;
    const answer = await options.lockClient.steadyState(intent.lock);
    if (answer.kind !== 'granted') throw new Error(`the slot could not be given back: ${answer.message}`);
  }

  async function once(): Promise<number> {
    const desired = options.desired();
    if (desired === undefined) return lookAgainMs;
    const config = await loadConfig(options.configDirectories);
    watcher.follow(config.config.marker.path);
    const facts = await look(config, desired);
    return await act(decide(facts), facts);
  }

  return {
    wake,
    async run() {
      memory = { ...memory, ...(await readJson<Memory>(options.stateFile)) };
      const { intent } = memory;
      // Ended between the order and the reboot: ask every gate again.
      if (intent?.phase === 'finalizing' && intent.bootID === options.bootID) {
        await remember({ intent: { ...intent, phase: 'locking' } });
      }
      while (!signal.aborted) {
        pending = false;
        let waitMs: number;
        try {
          waitMs = await once();
        } catch (error) {
          logger.warn({ error: messageOf(error) }, 'finalization could not go on; trying again');
          waitMs = failureRetryMs;
        }
        if (waitMs === 0 || pending || signal.aborted) continue;
        const interrupt = new AbortController();
        awaken = () => interrupt.abort();
        await clock.sleep(waitMs, AbortSignal.any([signal, interrupt.signal]));
        awaken = () => {};
      }
      watcher.close();
    },
  };
}

function markerOf(window: NonNullable<Desired['window']>): Marker {
  return {
    once: window.once === true,
    ...(window.notAfter === undefined ? {} : { notAfter: window.notAfter }),
    ...(window.release === undefined ? {} : { release: window.release }),
  };
}

/** Calls back when the marker's directory changes; a directory that appears later is found at the next look. */
function createMarkerWatcher(changed: () => void): { follow(path: string): void; close(): void } {
  let following = '';
  let watcher: ReturnType<typeof watch> | undefined;
  const close = () => {
    watcher?.close();
    watcher = undefined;
    following = '';
  };
  return {
    follow(path) {
      if (following === path && watcher !== undefined) return;
      close();
      try {
        watcher = watch(dirname(path), (_, name) => {
          if (name === null || name === basename(path)) changed();
        });
        watcher.on('error', close);
        following = path;
      } catch {
        // No directory yet.
      }
    },
    close,
  };
}
