import type { Tone } from '../../parts/status-label.tsx';
import type { Reach } from './targets.ts';

export const reachTones: Readonly<Record<Reach, Tone>> = {
  current: 'good',
  coming: 'working',
  leaving: 'plain',
  reachable: 'info',
  blocked: 'danger',
  unreachable: 'plain',
  past: 'plain',
};
