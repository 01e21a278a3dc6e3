import type { FleetLockGroup } from '../api/resources.ts';

/**
 * What to say where somebody should lose a slot that he does not hold: that nothing was done, and who holds one. Pure.
 *
 * @param who the name of the node or the id of the client, as it was typed.
 */
export function notHeldLines(who: string, group: string, groups: readonly FleetLockGroup[]): string[] {
  const held = groups.flatMap(({ metadata, status }) =>
    (status?.holders ?? []).map(({ id, node }) => ({ group: metadata.name ?? '', id, node })),
  );
  const elsewhere = held.find((each) => each.group !== group && (each.id === who || each.node === who));
  const others = held.map((each) => `${each.node ?? each.id} (${each.group})`);
  return [
    `nobody called ${who} holds a slot of the group ${group}: nothing was released`,
    others.length === 0 ? '  nobody holds a slot of any group' : `  slots are held by ${others.join(', ')}`,
    ...(elsewhere === undefined ? [] : [`  next: sluice lock release ${who} --group ${elsewhere.group}`]),
  ];
}
