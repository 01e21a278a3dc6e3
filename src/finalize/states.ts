/** Where an agent can stand. */
export const agentStates = ['Idle', 'Staging', 'Held', 'WaitingForSlot', 'Finalizing'] as const;
export type AgentState = (typeof agentStates)[number];

/**
 * From where an agent may go where. `Finalizing` ends in a boot, and a boot begins in any state that its facts ask
 * for. The drawing in docs/finalization.md is held equal to this table by a test.
 */
export const transitions: Readonly<Record<AgentState, readonly AgentState[]>> = {
  Idle: ['Staging', 'Held', 'WaitingForSlot', 'Finalizing'],
  Staging: ['Held', 'WaitingForSlot', 'Finalizing', 'Idle'],
  Held: ['WaitingForSlot', 'Finalizing', 'Staging', 'Idle'],
  WaitingForSlot: ['Finalizing', 'Held', 'Staging', 'Idle'],
  Finalizing: ['Held', 'Idle'],
};
