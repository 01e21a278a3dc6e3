import type { FinalizeConfig } from './config.ts';
import type { AgentReport } from './report.ts';

type Counter =
  | 'deployAttempts'
  | 'deployFailures'
  | 'finalizeAttempts'
  | 'finalizeFailures'
  | 'updateChecks'
  | 'updateCheckErrors'
  | 'lockRequests'
  | 'lockErrors';

const counterNames: Record<Counter, readonly [string, string]> = {
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
export interface Metrics {
  count(counter: Counter): void;
  looked(at: number): void;
  config(config: FinalizeConfig, valid: boolean): void;
  report(report: AgentReport): void;
  booted(intoUpdate: boolean): void;
  /** The text format of Prometheus, version 0.0.4. */
  render(): string;
}

export function createMetrics(startedAt: number): Metrics {
  const counters = new Map<Counter, number>();
  const boots = { true: 0, false: 0 };
  let lookedAt = 0;
  let rule: { config: FinalizeConfig; valid: boolean } | undefined;
  let last: AgentReport | undefined;
  let changedAt = startedAt;
  return {
    count: (counter) => void counters.set(counter, (counters.get(counter) ?? 0) + 1),
    looked: (at) => {
      lookedAt = at;
    },
    config: (config, valid) => {
      rule = { config, valid };
    },
    report: (report) => {
      if (last?.state !== report.state) changedAt = Date.now();
      last = report;
    },
    booted: (intoUpdate) => {
      boots[`${intoUpdate}`] += 1;
    },
    render() {
      const lines: string[] = [];
      const family = (name: string, type: 'gauge' | 'counter', help: string, samples: [string, number][]) => {
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
        for (const [labels, value] of samples) lines.push(`${name}${labels} ${value}`);
      };
      family('process_start_time_seconds', 'gauge', 'Start of the agent.', [['', startedAt / 1000]]);
      family('sluice_agent_last_look_seconds', 'gauge', 'When the agent looked last.', [
        ['', lookedAt / 1000],
      ]);
      family('sluice_agent_state_change_seconds', 'gauge', 'When its state changed last.', [
        ['', changedAt / 1000],
      ]);
      for (const [counter, [name, help]] of Object.entries(counterNames)) {
        family(name, 'counter', help, [['', counters.get(counter as Counter) ?? 0]]);
      }
      family(
        'sluice_boots_total',
        'counter',
        'Boots after an order of ours, by whether they were into the update.',
        [
          ['{updated="true"}', boots.true],
          ['{updated="false"}', boots.false],
        ],
      );
      if (rule !== undefined) {
        family('sluice_config_valid', 'gauge', '1 while the configuration is well formed.', [
          ['', rule.valid ? 1 : 0],
        ]);
        family('sluice_updates_enabled', 'gauge', '1 where updates are enabled.', [
          ['', rule.config.enabled ? 1 : 0],
        ]);
        family(
          'sluice_strategy',
          'gauge',
          'The strategies that must all allow.',
          rule.config.strategies.map((name) => [`{strategy="${name}"}`, 1]),
        );
      }
      if (last !== undefined) {
        const { state, holds } = last;
        family('sluice_agent_state', 'gauge', 'The state of the agent.', [[`{state="${state}"}`, 1]]);
        const seen = new Map(
          holds.map(({ gate, reason, since }) => [
            `{gate="${gate}",reason="${reason}"}`,
            Date.parse(since) / 1000,
          ]),
        );
        family('sluice_held_since_seconds', 'gauge', 'What holds the node, and since when.', [...seen]);
        if (last.nextPossible !== undefined) {
          const at = Date.parse(last.nextPossible) / 1000;
          family('sluice_next_possible_seconds', 'gauge', 'When it could reboot at the earliest.', [
            ['', at],
          ]);
        }
      }
      return `${lines.join('\n')}\n`;
    },
  };
}
