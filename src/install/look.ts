import { messageOf } from '../errors/error.ts';
import type { Logger } from '../observe/log.ts';
import { type HostFacts, nodeUnit, runsSystemd, type Systemctl } from './host.ts';

/** What the installer of one host does again and again, and how it went. */
export interface HostLook {
  /** Looks once, and makes the host as it should be. Errors: whatever stands against it; `problem` tells it until the next look. */
  look(): Promise<void>;
  /** Why the host is not as it should be; undefined where it is, or where nothing is put on it. */
  problem(): string | undefined;
}

/**
 * A Pod that is Ready lets a rollout go on to the next host. It is so when the registry of its own program answers and
 * the agent is up; and on a host without systemd, which is left alone: waiting for it would keep all others back.
 */
export function createHostLook(options: {
  /** Undefined while the cluster has not made the certificates. */
  readonly facts: () => Promise<HostFacts | undefined>;
  readonly keep: (facts: HostFacts) => Promise<readonly string[]>;
  readonly root: string;
  readonly systemctl: Systemctl;
  readonly logger: Pick<Logger, 'info'>;
}): HostLook {
  const { root, systemctl, logger } = options;
  let problem: string | undefined = 'the host has not been looked at yet';

  async function outcome(): Promise<string | undefined> {
    const facts = await options.facts();
    if (facts === undefined) {
      const words = 'the controller has made no certificates yet';
      logger.info({}, words);
      return words;
    }
    const changed = await options.keep(facts);
    if (changed.length > 0) logger.info({ changed }, 'the host is as it should be');
    return await agentProblem(systemctl);
  }

  return {
    async look() {
      try {
        problem = await outcome();
      } catch (error) {
        problem = runsSystemd(root) ? messageOf(error) : undefined;
        throw error;
      }
    },
    problem: () => problem,
  };
}

/** The agent is active when it has registered. */
async function agentProblem(systemctl: Systemctl): Promise<string | undefined> {
  const text = await systemctl(['show', '--property=ActiveState,SubState', nodeUnit]);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? 'unknown';
  const state = value('ActiveState');
  if (state === 'active') return undefined;
  return `${nodeUnit} is ${state} (${value('SubState')}): journalctl -u ${nodeUnit} on the host says why`;
}
