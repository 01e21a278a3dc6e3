import type { Hold } from './hold.ts';

/** Who is logged in, as far as it is known. Not to know is not "nobody" (zincati's one way to fail open). */
export type Users =
  | { readonly kind: 'none' }
  | { readonly kind: 'some'; readonly sessions: readonly Session[] }
  | { readonly kind: 'unknown'; readonly why: string };

export interface Session {
  readonly user: string;
  /** `pts/0`, `tty1`; without the directory. */
  readonly tty: string;
}

/** Users delay a reboot by ten minutes at most, as zincati does. Milliseconds. */
export const graceMs = 600_000;
/** They are told once more when this little is left. */
export const lastWarningMs = 60_000;

/**
 * How long users may delay it: where the permission ends sooner, half of what is left of it, so that neither the
 * users nor the window count for nothing. Pure.
 */
export function graceFor(since: number, permissionEndsAt: number | undefined): number {
  if (permissionEndsAt === undefined) return graceMs;
  return Math.min(graceMs, Math.max(0, (permissionEndsAt - since) / 2));
}

/** @param graceSince when the grace began, which it does once nothing else on the node holds it. */
export function usersHold(
  users: Users,
  graceSince: number | undefined,
  permissionEndsAt: number | undefined,
  now: number,
): Hold | undefined {
  if (users.kind === 'none') return undefined;
  const opensAt = graceSince === undefined ? undefined : graceSince + graceFor(graceSince, permissionEndsAt);
  if (opensAt !== undefined && opensAt <= now) return undefined;
  const who =
    users.kind === 'unknown'
      ? `it is not known who is logged in: ${users.why}`
      : `logged in: ${users.sessions.map(({ user, tty }) => `${user} on ${tty}`).join(', ')}`;
  const until =
    opensAt === undefined
      ? 'they are warned when nothing else holds it'
      : `it goes on in ${Math.ceil((opensAt - now) / 1000)} s at the latest`;
  return {
    gate: 'users',
    reason: users.kind === 'unknown' ? 'UsersUnknown' : 'UsersLoggedIn',
    message: `${who}; ${until}`,
    ...(opensAt === undefined ? {} : { opensAt }),
  };
}
