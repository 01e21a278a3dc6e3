import { messageOf, SluiceError } from '../errors/error.ts';
import type { HttpClient } from '../http/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { Desired } from './agent.ts';
import { askGraph, type GraphAnswer } from './cincinnati.ts';
import type { FinalizeConfig } from './config.ts';
import type { OsDriver } from './driver.ts';
import type { AgentMetrics } from './metrics.ts';
import { basearch, isConfidential, platformOf } from './url-template.ts';

/** Between looks whether the configuration has been read. Milliseconds. */
const configMs = 200;

export interface UpdateSource {
  /** Undefined before it is known what is staged. */
  desired(): Desired | undefined;
  /** Why the booted release leads nowhere any more, where the graph says so. */
  deadend(): string | undefined;
  /** Why the graph could not be asked last; undefined where it answered, or where none is asked. */
  problem(): string | undefined;
  /** Unix milliseconds of the last answer; 0 before the first. */
  checkedAt(): number;
  run(): Promise<void>;
}

/**
 * Where a host without a cluster learns what it should boot: it asks a Cincinnati server at zincati's interval. An
 * answer that cannot be had changes nothing; a newer release replaces one that is staged and waits (zincati#928).
 */
export function createUpdateSource(options: {
  readonly http: HttpClient;
  readonly driver: OsDriver;
  readonly nodeUuid: string;
  /** What the agent itself staged before it was started anew. */
  readonly stagedBefore: () => Promise<Digest | undefined>;
  /** The configuration in force; undefined before it was read. */
  readonly config: () => FinalizeConfig | undefined;
  readonly changed: () => void;
  readonly metrics: AgentMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): UpdateSource {
  const { clock, logger, metrics, signal } = options;
  let answer: GraphAnswer | undefined;
  let checkedAt = 0;
  let problem: string | undefined;

  async function check(config: FinalizeConfig): Promise<void> {
    metrics.count('updateChecks');
    const { identity, cincinnati } = config;
    if (!cincinnati.allowHttp && !isConfidential(cincinnati.baseUrl)) {
      throw new SluiceError(
        'InputInvalid',
        `${cincinnati.baseUrl} is plain http: whoever is on the way could name the next release`,
        {
          next: 'Use https, or set cincinnati.allow_http = true where the way is trusted.',
        },
      );
    }
    const platform = await platformOf();
    const os = await options.driver.status();
    const found = await askGraph(
      options.http,
      config.cincinnati.baseUrl,
      {
        basearch,
        ...(identity.stream === undefined ? {} : { stream: identity.stream }),
        group: identity.group,
        nodeUuid: identity.nodeUuid ?? options.nodeUuid,
        ...(platform === undefined ? {} : { platform }),
        ...(identity.rolloutWariness === undefined ? {} : { wariness: identity.rolloutWariness }),
      },
      os,
      config.allowDowngrade,
      signal,
    );
    checkedAt = clock.now();
    problem = undefined;
    const news = found.update?.digest !== answer?.update?.digest;
    answer = found;
    if (found.deadend !== undefined)
      logger.warn({ reason: found.deadend }, 'the booted release is a dead end');
    if (news) {
      logger.info({ version: found.update?.version }, 'the update graph names another release');
      options.changed();
    }
  }

  /**
   * Until the graph answers, which may be down, what the agent has staged stays wanted. What somebody else staged is not
   * for the agent to reboot into: whether the graph names it too is not known yet.
   */
  async function recall(): Promise<void> {
    const [{ staged }, ours] = await Promise.all([options.driver.status(), options.stagedBefore()]);
    answer =
      staged === undefined || staged.digest !== ours
        ? {}
        : { update: { ...staged, version: staged.version ?? staged.digest } };
    options.changed();
  }

  return {
    desired() {
      if (answer === undefined) return undefined;
      if (answer.update === undefined) return {};
      const { image, digest, version } = answer.update;
      return { image, digest, version };
    },
    deadend: () => answer?.deadend,
    problem: () => problem,
    checkedAt: () => checkedAt,
    async run() {
      await recall().catch((error) => logger.warn({ error: messageOf(error) }, 'the system cannot be asked'));
      while (!signal.aborted) {
        const config = options.config();
        if (config === undefined) {
          await clock.sleep(configMs, signal);
          continue;
        }
        if (asks(config)) {
          await check(config).catch((error) => {
            if (signal.aborted) return; // An agent that is told to end waits for no server.
            metrics.count('updateCheckErrors');
            problem = messageOf(error);
            logger.warn({ error: messageOf(error) }, 'the update graph could not be asked');
          });
        } else {
          problem = undefined;
          if (answer?.update !== undefined) {
            answer = {};
            options.changed();
          }
        }
        // Hosts that were started together do not ask together.
        await clock.sleep(config.steadyIntervalMs * (1 + options.random() / 10), signal);
      }
    },
  };
}

function asks({ enabled, mode, cincinnati }: FinalizeConfig): boolean {
  return enabled && mode !== 'finalize-only' && cincinnati.baseUrl !== '';
}
