import { useNow } from '../data/hooks.ts';
import { words } from '../words/english.ts';
import { formatExact, formatRelative } from '../words/format.ts';

/** A time as a person thinks of it, with the exact one on hover. */
export function Ago({ at }: { readonly at: string | number | undefined | null }) {
  const now = useNow();
  const ms = typeof at === 'number' ? at : Date.parse(at ?? '');
  if (Number.isNaN(ms)) return <span>{words.time.unknown}</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatExact(ms)} className="sluice-ago">
      {formatRelative(ms, now)}
    </time>
  );
}
