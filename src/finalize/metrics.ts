import { unixSeconds } from '../observe/clock.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { FinalizeConfig } from './config.ts';
import type { AgentReport } from './report.ts';
import { agentStates } from './states.ts';

type AgentCounter =
  | 'deployAttempts'
  | 'deployFailures'
  | 'finalizeAttempts'
  | 'finalizeFailures'
  | 'updateChecks'
  | 'updateCheckErrors'
  | 'lockRequests'
  | 'lockErrors';

const counterNames: Record<AgentCounter, readonly [string, string]> = {
  deployAttempts: ['sluice_deploy_attempts_total', 'Updates that were begun to be staged.'],
  deployFailures: ['sluice_deploy_failures_total', 'Updates that could not be staged.'],
  finalizeAttempts: ['sluice_finalize_attempts_total', 'Reboots that were ordered.'],
  finalizeFailures: ['sluice_finalize_failures_total', 'Reboots that were refused.'],
  updateChecks: ['sluice_update_checks_total', 'Questions to the update graph.'],
  updateCheckErrors: ['sluice_update_check_errors_total', 'Questions to the update graph that failed.'],
  lockRequests: ['sluice_fleet_lock_requests_total', 'Questions to the lock server.'],
  lockErrors: ['sluice_fleet_lock_errors_total', 'Questions to the lock server that failed.'],
};

/** What an agent tells Prometheus. Label values are closed sets of ours: no foreign text becomes one. */
export interface AgentMetrics {
  count(counter: AgentCounter): void;
  looked(at: number): void;
  config(config: FinalizeConfig, valid: boolean): void;
  report(report: AgentReport, at: number): void;
  booted(intoUpdate: boolean): void;
}

export function createAgentMetrics(metrics: Metrics): AgentMetrics {
  const counters = new Map(
    Object.entries(counterNames).map(([counter, [name, help]]) => [counter, metrics.counter(name, help)]),
  );
  const looks = metrics.gauge('sluice_agent_last_look_timestamp_seconds', 'When the agent looked last.');
  const changed = metrics.gauge(
    'sluice_agent_state_change_timestamp_seconds',
    'When its state changed last.',
  );
  const state = metrics.gauge('sluice_agent_state', 'The state of the agent: 1 for the one it is in.', [
    'state',
  ]);
  const boots = metrics.counter(
    'sluice_boots_total',
    'Boots after an order of ours, by whether they were into the update.',
    ['updated'],
  );
  const valid = metrics.gauge('sluice_config_valid', '1 while the configuration is well formed.');
  const enabled = metrics.gauge('sluice_updates_enabled', '1 where updates are enabled.');
  const strategy = metrics.gauge('sluice_strategy', 'The strategies that must all allow.', ['strategy']);
  const held = metrics.gauge(
    'sluice_agent_held_since_timestamp_seconds',
    'What holds the node, and since when.',
    ['gate', 'reason'],
  );
  const next = metrics.gauge(
    'sluice_agent_next_possible_timestamp_seconds',
    'When it could reboot at the earliest; absent where no time is known.',
  );
  for (const updated of ['true', 'false']) boots.add({ updated }, 0);
  let last: AgentReport | undefined;
  return {
    count: (counter) => counters.get(counter)?.add({}),
    looked: (at) => looks.set({}, at / 1000),
    config(config, isValid) {
      valid.set({}, isValid ? 1 : 0);
      enabled.set({}, config.enabled ? 1 : 0);
      strategy.replace(config.strategies.map((name) => [{ strategy: name }, 1]));
    },
    report(report, at) {
      if (last?.state !== report.state) changed.set({}, at / 1000);
      last = report;
      state.replace(agentStates.map((each) => [{ state: each }, each === report.state ? 1 : 0]));
      held.replace(report.holds.map(({ gate, reason, since }) => [{ gate, reason }, unixSeconds(since)]));
      next.replace([[{}, unixSeconds(report.nextPossible)]]);
    },
    booted: (intoUpdate) => boots.add({ updated: String(intoUpdate) }),
  };
}
