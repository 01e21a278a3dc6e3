/**
 * Whether one member of the control plane may be away: etcd must keep a majority without it. A pair and a single
 * node have no majority to keep: they go while nothing else is wrong.
 *
 * @param othersReady of every other member, whether it is ready.
 * @returns what would be wrong, as "… only 1 of 3 would be ready"; undefined where it may go.
 */
export function quorumTrouble(othersReady: readonly boolean[]): string | undefined {
  const size = othersReady.length + 1;
  const ready = othersReady.filter((each) => each).length;
  const needed = size <= 2 ? size - 1 : Math.floor(size / 2) + 1;
  if (ready >= needed) return undefined;
  return `only ${ready} of ${size} control-plane nodes would be ready, and ${needed} are needed`;
}
