import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ClockEvidence } from './clock-trust.ts';
import type { FinalizeConfig, LoadedConfig } from './config.ts';
import { loadConfig } from './config-files.ts';
import { createDebts } from './debts.ts';
import { decide, type Facts, type Intent, type Step, type Wanted } from './decide.ts';
import type { OsDriver } from './driver.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import { createGrace } from './grace.ts';
import { type Hold, lookAgainMs, nextLookMs } from './hold.ts';
import { closedWindowOf, lookAtMarker, type Marker, removeMarker, writeMarker } from './marker.ts';
import { type MemoryFile, openMemory } from './memory.ts';
import type { AgentMetrics } from './metrics.ts';
import { type AgentReport, createReports } from './report.ts';
import { createSetback, setbackMs } from './setback.ts';
import type { AgentState } from './states.ts';
import { basearch, defaultStream, fillUrl, hasVariables, platformOf } from './url-template.ts';
import type { Users } from './users.ts';
import { createWatcher } from './watch.ts';
import type { Schedule } from './weekly.ts';
import { loadZone } from './zone.ts';

/** What is wanted of this node; from NodeUpdate.spec, or from a local update source. */
export interface Desired {
  readonly image?: string;
  readonly digest?: Digest;
  /** Where it is known before it is staged. */
  readonly version?: string;
  readonly window?: { readonly notAfter?: number; readonly once?: boolean; readonly release?: string };
}

/** What a reboot of this machine would disturb. */
export interface HostLook {
  readonly blockers: readonly Hold[];
  readonly users: Users;
}

/** The machine that the agent runs on, where `finalize` reboots it. */
export interface Host {
  /** @param wanted the release that waits; hooks are told. @param firstBoot the agent's first boot here. */
  look(config: FinalizeConfig, wanted: Wanted | undefined, firstBoot: boolean): Promise<HostLook>;
  /** Tells the users on their terminals. Never throws, never waits for a terminal that does not read. */
  warn(message: string): Promise<void>;
}

export interface AgentOptions {
  readonly stateFile: string;
  readonly configDirectories: readonly string[];
  readonly bootID: string;
  /** The id in the fleet lock (lock/identity.ts), unless the configuration names another. */
  readonly lockId: string;
  readonly driver: OsDriver;
  readonly lockClient: {
    preReboot(request: LockRequest): Promise<LockAnswer>;
    steadyState(request: LockRequest): Promise<LockAnswer>;
  };
  /** Absent where a reboot is not one of the host. */
  readonly host?: Host;
  readonly clockEvidence: () => Promise<Omit<ClockEvidence, 'declared'>>;
  /** Undefined while it is not known (the API has not been reached yet): then nothing is decided anew. */
  readonly desired: () => Desired | undefined;
  readonly report: (report: AgentReport) => Promise<void>;
  /** The loop goes on: it will say so again within this many milliseconds, or it is stuck. */
  readonly onProgress?: (withinMs: number) => void;
  /** Called with each configuration that is read. */
  readonly onConfig?: (config: FinalizeConfig) => void;
  /** The only uid who may own the marker; root's. */
  readonly markerOwnerUid: number;
  readonly metrics: AgentMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Between two questions to a lock server whose slots are taken and that says nothing of when: the first, the longest. */
const lockRetryMs = { first: 2_000, most: 10_000 };
/** A reboot that is on its way ends this process within it; else it is shown as ordered. Milliseconds. */
const rebootLookMs = 2_000;
/** A report that could not be delivered is made again after this long. Milliseconds. */
const reportRetryMs = 5_000;
/** What one turn of the loop takes at most, beside what is waited for on purpose: commands, the bus, a lock server. */
const turnMsMax = 600_000;
/** Staging downloads a system. Milliseconds. */
const stagingMsMax = 5 * 3600_000;

export interface FinalizationAgent {
  /** Something changed (the desired image, the window, an inhibitor): look now. */
  wake(): void;
  /** Opens or closes this node's window: writes or removes the marker file. */
  setWindow(window: Marker | undefined): Promise<void>;
  /** Runs until the signal aborts. */
  run(): Promise<void>;
}

/** The shell around `decide`: looks at the world, acts on one step, reports, waits for an event or the time. */
export function createFinalizationAgent(options: AgentOptions): FinalizationAgent {
  const { clock, driver, logger, signal, metrics } = options;
  const reportOf = createReports(driver.name);
  /** This node's own place in every jitter, the same at each look. */
  const share = createHash('sha256').update(options.lockId).digest().readUInt32BE() / 2 ** 32;
  let memory: MemoryFile;
  let debts: ReturnType<typeof createDebts>;
  let lock: LockAnswer | undefined;
  let lockAsked = 0;
  /** When the reboot was ordered, by the monotonic clock. */
  let orderedAt: number | undefined;
  let unreported = false;
  let saidHolds = '';
  const setback = createSetback(clock, logger);
  const grace = createGrace(clock, async (message) => await options.host?.warn(message));
  let lastGood: FinalizeConfig | undefined;
  let markerPath = '';
  let awaken: () => void = () => {};
  let pending = false;
  const wake = () => {
    pending = true;
    awaken();
  };
  const patience = createPatience(clock);
  const watcher = createWatcher(wake);

  /** What is broken holds the node; all but the permission goes on by the last good rule (docs/decisions/0005). */
  async function readConfig(): Promise<LoadedConfig> {
    const loaded = await loadConfig(options.configDirectories);
    if (loaded.problems.length === 0) lastGood = loaded.config;
    const config = lastGood ?? loaded.config;
    markerPath = config.marker.path;
    watcher.follow([
      { directory: dirname(markerPath), name: basename(markerPath) },
      ...options.configDirectories.map((directory) => ({ directory })),
    ]);
    options.onConfig?.(config);
    metrics.config(config, loaded.problems.length === 0);
    return { ...loaded, config };
  }

  /** A window of the cluster becomes this node's marker, once for each change of it. */
  async function applyWindow({ window }: Desired): Promise<void> {
    const text = window === undefined ? '' : JSON.stringify(window);
    if (text === memory.now.appliedWindow) return;
    if (window === undefined) await removeMarker(markerPath);
    else await writeMarker(markerPath, { ...window, once: window.once === true });
    await memory.remember({ appliedWindow: text });
  }

  async function look(config: LoadedConfig, desired: Desired): Promise<Facts> {
    const { config: rules } = config;
    await applyWindow(desired);
    const { image, digest, version } = desired;
    const wanted =
      image === undefined || digest === undefined
        ? undefined
        : { image, digest, ...(version === undefined ? {} : { version }) };
    const os = await driver.status();
    const { intent, confirmed, staged } = memory.now;
    const update = rules.mode === 'finalize-only' ? os.staged : (wanted ?? os.staged);
    const host = await options.host?.look(rules, update, memory.now.firstBootID === options.bootID);
    const schedule = await scheduleOf(rules);
    const graceSince = grace.since();
    const held = setback.hold();
    const marker = await lookAtMarker(markerPath, {
      allowWithoutExpiry: rules.marker.allowWithoutExpiry,
      ownerUid: options.markerOwnerUid,
    });
    return {
      config,
      ...(wanted === undefined ? {} : { desired: wanted }),
      os,
      bootID: options.bootID,
      ...(intent === undefined ? {} : { intent: agedIntent(intent) }),
      failures: update === undefined ? 0 : (memory.now.failures[update.digest] ?? 0),
      stagingFailures: setback.stagingFailures(),
      ...(confirmed === undefined ? {} : { confirmed }),
      ...(staged === undefined ? {} : { stagedByUs: staged }),
      ...(schedule === undefined ? {} : { schedule }),
      share,
      marker,
      ...closedWindowOf(desired.window, marker),
      clock: { declared: rules.clockTrusted, ...(await options.clockEvidence()) },
      blockers: host?.blockers ?? [],
      users: host?.users ?? { kind: 'none' },
      ...(graceSince === undefined ? {} : { graceSince }),
      ...(lock === undefined ? {} : { lock }),
      ...(held === undefined ? {} : { setback: held }),
      now: clock.now(),
    };
  }

  /** The order as old as it is, whatever was done to the wall clock since. */
  function agedIntent(intent: Intent): Intent {
    return orderedAt === undefined
      ? intent
      : { ...intent, since: clock.now() - (clock.monotonic() - orderedAt) };
  }

  /** What holds it goes into the log when it changes, not at each look: to wait is nothing new. */
  function sayHolds({ state, holds }: AgentReport): void {
    const reasons = holds.map(({ gate, reason }) => `${gate}/${reason}`).join(' ');
    if (reasons === saidHolds) return;
    saidHolds = reasons;
    if (holds.length === 0) logger.info({ state }, 'nothing holds it any more');
    else logger.info({ state, holds: holds.map(({ since: _, ...hold }) => hold) }, 'held');
  }

  /** Nobody who listens can stop the agent: what could not be told is told at the next look, soon. */
  async function report(state: AgentState, holds: readonly Hold[], facts: Facts): Promise<void> {
    const made = reportOf(state, holds, facts);
    metrics.report(made, facts.now);
    sayHolds(made);
    try {
      await options.report(made);
    } catch (error) {
      unreported = true;
      logger.warn({ error: messageOf(error) }, 'the report could not be delivered');
    }
  }

  /** Acts on one step. Returns the milliseconds until the next look, 0 for at once. */
  async function act(step: Step, facts: Facts): Promise<number> {
    switch (step.kind) {
      case 'idle':
        setback.clear();
        await report('Idle', [], facts);
        return untilDebt(lookAgainMs);
      case 'hold':
        return await hold(step.holds, facts);
      case 'stage':
        return await stage(step, facts);
      case 'lock':
        await askForSlot(step, facts);
        return 0;
      case 'release':
        await giveBack(step.intent, 0);
        if (step.failed) {
          logger.error({ digest: step.intent.digest }, 'the reboot was ordered and never came');
          await countFailure(step.intent.digest);
        }
        return 0;
      case 'confirm':
        await confirm(step.intent, step.booted, facts);
        return 0;
      case 'finalize':
        return await finalize(step, facts);
    }
  }

  async function hold(holds: readonly Hold[], facts: Facts): Promise<number> {
    const waits = holds.every(({ gate }) => gate === 'fleet_lock');
    const ordered = holds.some(({ reason }) => reason === 'Rebooting');
    if (await grace.look(holds, facts)) return 0;
    await report(waits ? 'WaitingForSlot' : ordered ? 'Finalizing' : 'Held', holds, facts);
    if (!waits) return untilDebt(nextLookMs(holds, clock.now()));
    const draining = lock?.kind === 'wait' && lock.reason === 'Draining';
    const saidMs = lock?.kind === 'wait' ? lock.retryAfterMs : undefined;
    lockAsked = draining ? 1 : lockAsked + 1;
    lock = undefined; // The next look asks again.
    const waitMs = saidMs ?? Math.min(lockRetryMs.first * 2 ** (lockAsked - 1), lockRetryMs.most);
    return waitMs * (1 + options.random() / 2);
  }

  const untilDebt = (ms: number) => Math.max(50, Math.min(ms, debts.dueInMs() ?? Infinity));

  async function stage(step: Wanted, facts: Facts): Promise<number> {
    await report('Staging', [], facts);
    logger.info({ image: step.image }, 'staging');
    // Before it is done: after a crash in between, what is staged is still known to be ours.
    await memory.remember({ staged: step.digest });
    metrics.count('deployAttempts');
    options.onProgress?.(stagingMsMax);
    try {
      await driver.stage(step.image, step.digest, { allowDowngrade: facts.config.config.allowDowngrade });
      const { staged } = await driver.status();
      if (staged?.digest !== step.digest) throw new Error('the command succeeded, and yet nothing is staged');
      setback.clear();
    } catch (error) {
      metrics.count('deployFailures');
      setback.take('staged', 'StageFailed', `staging failed: ${messageOf(error)}`);
    }
    return 0;
  }

  /** Where the slot is asked for, and as whom. */
  async function lockRequest({ fleetLock, identity }: FinalizeConfig): Promise<LockRequest> {
    const { baseUrl, secretFile } = fleetLock;
    const { group, nodeUuid: id = options.lockId } = identity;
    const values = async () => ({
      basearch,
      group,
      platform: (await platformOf()) ?? '',
      stream: identity.stream ?? (await driver.status()).stream ?? defaultStream,
    });
    return {
      baseUrl: hasVariables(baseUrl) ? fillUrl(baseUrl, await values()) : baseUrl,
      group,
      id,
      ...(secretFile === undefined ? {} : { secretFile }),
    };
  }

  async function askForSlot(step: Wanted, facts: Facts): Promise<void> {
    const request = await lockRequest(facts.config.config);
    await debts.cancel(request);
    if (memory.now.intent === undefined) {
      // Durable before the question: whatever happens after it, the slot can be given back.
      const { image, digest } = step;
      const intent = { image, digest, bootID: options.bootID, since: clock.now() };
      await memory.remember({ intent: { ...intent, phase: 'locking', lock: request } });
    }
    lock = await options.lockClient.preReboot(memory.now.intent?.lock ?? request);
    if (lock.kind === 'granted') logger.info({ group: request.group }, 'slot granted');
  }

  async function finalize(step: Wanted & { readonly consumeMarker: boolean }, facts: Facts): Promise<number> {
    const previous = memory.now.intent;
    const base = previous ?? { image: step.image, digest: step.digest, bootID: options.bootID };
    const orders = (previous?.orders ?? 0) + 1;
    await memory.remember({ intent: { ...base, phase: 'finalizing', since: clock.now(), orders } });
    // After the intent: whoever is killed in between finds the marker where it was, and asks every gate again.
    if (step.consumeMarker && !(await consumeMarker())) {
      await giveBack(previous, 0);
      return 0;
    }
    orderedAt = clock.monotonic();
    await report('Finalizing', [], facts);
    await options.host?.warn('This machine reboots now.');
    logger.info({ digest: step.digest, driver: driver.name }, 'finalizing');
    metrics.count('finalizeAttempts');
    try {
      const outcome = await driver.finalize(step.digest);
      if (outcome.kind === 'unknown') {
        // It may be under way: the intent and the slot stay, and the next boot, or none in time, tells.
        logger.warn({ error: outcome.message }, 'the order to reboot was not answered');
      }
      return rebootLookMs;
    } catch (error) {
      // Refused, not failed: nothing was booted. The slot goes back; the next look decides anew.
      metrics.count('finalizeFailures');
      const blocked = isSluiceError(error, 'Blocked');
      setback.take('finalize', blocked ? 'Blocked' : 'FinalizeFailed', messageOf(error));
      await giveBack(previous, 0);
      return 0;
    }
  }

  /** Before the order, and durably: what permits one reboot must not permit a second one. */
  async function consumeMarker(): Promise<boolean> {
    try {
      await removeMarker(markerPath);
      return true;
    } catch (error) {
      const message = `the marker file is for one reboot and cannot be removed: ${messageOf(error)}`;
      setback.take('finalize', 'MarkerNotConsumed', message);
      return false;
    }
  }

  async function confirm(intent: Intent, booted: boolean, facts: Facts): Promise<void> {
    const { digest } = intent;
    logger.info({ digest, booted }, booted ? 'booted into the update' : 'the update did not boot');
    metrics.booted(booted);
    if (booted) {
      const { [digest]: _, ...failures } = memory.now.failures;
      await memory.remember({ failures, confirmed: digest, staged: undefined });
      await giveBack(intent, facts.config.config.fleetLock.minReadyMs);
      return;
    }
    // The slot stays with this node: a release that does not boot must not walk through the fleet.
    await countFailure(digest);
    const { orders: _, ...rest } = intent;
    await memory.remember({ intent: { ...rest, phase: 'locking', bootID: options.bootID } });
  }

  async function countFailure(digest: Digest): Promise<void> {
    const { failures } = memory.now;
    await memory.remember({ failures: { ...failures, [digest]: (failures[digest] ?? 0) + 1 } });
  }

  /** Forgets the intent; its slot is owed from now on, and is paid beside everything else. */
  async function giveBack(intent: Intent | undefined, afterMs: number): Promise<void> {
    lock = undefined;
    lockAsked = 0;
    orderedAt = undefined;
    if (intent?.lock !== undefined) await debts.owe(intent.lock, afterMs);
    await memory.remember({ intent: undefined });
    debts.settle();
  }

  async function once(): Promise<number> {
    debts.settle();
    const config = await readConfig();
    const desired = options.desired();
    if (desired === undefined) return lookAgainMs;
    const { confirmed } = memory.now;
    if (confirmed !== undefined && desired.digest !== undefined && desired.digest !== confirmed)
      await memory.remember({ confirmed: undefined });
    const facts = await look(config, desired);
    metrics.looked(clock.now());
    return await act(decide(facts), facts);
  }

  /** What the last run of the agent left: a reboot that did not come, a slot of any identity. */
  async function recover(): Promise<void> {
    const { intent } = memory.now;
    if (intent?.phase === 'finalizing' && intent.bootID === options.bootID) {
      await memory.remember({ intent: { ...intent, phase: 'locking' } }); // Ask every gate again.
    }
    const { config, problems } = await readConfig();
    const fresh = memory.now.firstBootID === options.bootID;
    if (!fresh || intent !== undefined || problems.length > 0) return;
    if (!config.strategies.includes('fleet_lock')) return;
    // Nothing is remembered yet: a slot that an agent before this one may have left is given back, as zincati does.
    if (memory.now.debts.length === 0) await debts.owe(await lockRequest(config), 0);
  }

  return {
    wake,
    async setWindow(window) {
      if (markerPath === '')
        throw new SluiceError('Conflict', 'the agent has not read its configuration yet');
      if (window === undefined) await removeMarker(markerPath);
      else await writeMarker(markerPath, window);
      wake();
    },
    async run() {
      memory = await openMemory(options.stateFile, options.bootID);
      const { steadyState } = options.lockClient;
      debts = createDebts({ memory, clock, logger, steadyState });
      await recover();
      let failures = 0;
      while (!signal.aborted) {
        pending = false;
        unreported = false;
        options.onProgress?.(turnMsMax + (lastGood?.blockers.hookTimeoutMs ?? 0));
        let waitMs: number;
        try {
          waitMs = await once();
          if (unreported) waitMs = Math.min(waitMs, reportRetryMs);
          failures = 0;
        } catch (error) {
          logger.warn({ error: messageOf(error) }, 'finalization could not go on; trying again');
          failures += 1;
          waitMs = Math.min(setbackMs.first * 2 ** (failures - 1), lookAgainMs);
        }
        if (waitMs === 0 || signal.aborted) continue;
        if (pending) {
          await clock.sleep(patience.waitMs(), signal);
          continue;
        }
        options.onProgress?.(waitMs + turnMsMax);
        const interrupt = new AbortController();
        awaken = () => interrupt.abort();
        await clock.sleep(waitMs, AbortSignal.any([signal, interrupt.signal]));
        awaken = () => {};
        if (pending) await clock.sleep(patience.waitMs(), signal);
      }
      watcher.close();
      await debts.settled();
    },
  };
}

/** Events at once, and one a second: whoever makes more of them (any user may send signals) keeps nothing busy. */
const eventsMax = { atOnce: 8, everyMs: 1_000 };

function createPatience(clock: Clock): { waitMs(): number } {
  let left = eventsMax.atOnce;
  let at = clock.monotonic();
  return {
    waitMs() {
      const now = clock.monotonic();
      left = Math.min(eventsMax.atOnce, left + (now - at) / eventsMax.everyMs) - 1;
      at = now;
      return left >= 0 ? 0 : -left * eventsMax.everyMs;
    },
  };
}

async function scheduleOf({ strategies, periodic }: FinalizeConfig): Promise<Schedule | undefined> {
  if (!strategies.includes('periodic')) return undefined;
  try {
    return { windows: periodic.windows, zone: await loadZone(periodic.timeZone) };
  } catch {
    return undefined; // A problem of the configuration says so.
  }
}
