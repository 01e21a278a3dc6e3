import type { PayloadManifest } from '../payload/payload.ts';
import { type Inclusion, type InclusionRule, inclusionOf } from './inclusion.ts';

/** One object of a payload and what is done with it. */
export interface Task {
  /** Unique in a payload, stable over restarts. */
  readonly id: string;
  readonly manifest: PayloadManifest;
  readonly inclusion: Exclude<Inclusion, { act: 'exclude' }>;
}

/** Tasks one after another. */
export type Chain = readonly Task[];
/** Chains side by side; a block begins when every chain of the one before has come to its end. */
export type Block = readonly Chain[];

/**
 * The order in which a payload is applied: run levels one after another, the components of a level side
 * by side, files without a level alone, and every Job a barrier of its own.
 */
export function planWalk(manifests: readonly PayloadManifest[], rule: InclusionRule): Block[] {
  const blocks: Block[] = [];
  let level: Map<string, Task[]> = new Map();
  let levelNumber: number | undefined;
  const flush = () => {
    if (level.size > 0) blocks.push([...level.values()]);
    level = new Map();
    levelNumber = undefined;
  };
  for (const manifest of manifests) {
    const inclusion = inclusionOf(manifest, rule);
    if (inclusion.act === 'exclude') continue;
    const task: Task = { id: `${manifest.file}#${manifest.index}`, manifest, inclusion };
    const isAlone = manifest.runLevel === undefined || isJob(manifest);
    if (isAlone || manifest.runLevel !== levelNumber) flush();
    if (isAlone) {
      blocks.push([[task]]);
      continue;
    }
    levelNumber = manifest.runLevel;
    const component = manifest.component ?? '';
    const chain = level.get(component);
    if (chain === undefined) level.set(component, [task]);
    else chain.push(task);
  }
  flush();
  return blocks;
}

/** How a payload is walked. */
export type WalkMode =
  /** To a cluster that has nothing yet: everything at once, since what waits for what finds itself. */
  | 'initializing'
  /** From one release to the next: level by level. */
  | 'updating'
  /** To keep what is there: each object for itself, in another order each time, so that nothing starves. */
  | 'reconciling';

/** Blocks with the order of the mode. @param attempt counts the walks of `reconciling`. */
export function arrange(blocks: readonly Block[], mode: WalkMode, attempt: number): readonly Block[] {
  switch (mode) {
    case 'updating':
      return blocks;
    case 'initializing':
      return [blocks.flat()];
    case 'reconciling':
      return [rotated(shuffled(tasksOf(blocks), Math.floor(attempt / 8)), attempt % 8).map((task) => [task])];
  }
}

function rotated<T>(items: readonly T[], eighths: number): T[] {
  const at = Math.floor((items.length * eighths) / 8);
  return [...items.slice(at), ...items.slice(0, at)];
}

/** The same order for the same seed: a walk can be told again (xorshift32). */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const order = [...items];
  let state = (seed + 1) * 2654435761;
  for (let index = order.length - 1; index > 0; index -= 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const other = (state >>> 0) % (index + 1);
    const held = order[index] as T;
    order[index] = order[other] as T;
    order[other] = held;
  }
  return order;
}

export function isJob({ object }: PayloadManifest): boolean {
  return object.kind === 'Job' && object.apiVersion.startsWith('batch/');
}

/** Every task of a walk, in order. */
export function tasksOf(blocks: readonly Block[]): Task[] {
  return blocks.flatMap((block) => block.flatMap((chain) => [...chain]));
}
