import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import type { NodeState } from './rows.ts';

const tones: Readonly<Record<NodeState, Tone>> = {
  Idle: 'good',
  Staging: 'working',
  Held: 'warning',
  WaitingForSlot: 'paused',
  Finalizing: 'working',
  trouble: 'danger',
  absent: 'plain',
};

/** How a node's agent stands. */
export function NodeStateLabel({ state }: { readonly state: NodeState }) {
  return <StatusLabel tone={tones[state]}>{words.nodes.states[state]}</StatusLabel>;
}
