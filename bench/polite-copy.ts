/**
 * One copy for polite.ts: MEDIA NAME KEY.pub STORE, then `throttled` or `unthrottled`. Ends with 0 where the store has the release
 * whole.
 */
import { readFileSync } from 'node:fs';
import { openBundle } from '../src/bundle/bundle.ts';
import { createPace } from '../src/copy/pace.ts';
import { planCopy } from '../src/copy/plan.ts';
import { describeOutcome, runCopy } from '../src/copy/run.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { openStore } from '../src/store/store.ts';
import { parseTrustedKey } from '../src/trust/keys.ts';

const [media = '', name = '', key = '', root = '', how] = process.argv.slice(2);
const { content, close } = await openMedia(media);
const bundle = await openBundle(content, { name }, [parseTrustedKey(key, readFileSync(key, 'utf8'))]);
const outcome = await runCopy(await planCopy(content, await openStore(root), bundle), {
  signal: new AbortController().signal,
  clock: systemClock,
  ...(how === 'throttled' ? { pace: createPace({ clock: systemClock }) } : {}),
});
await close();
if (outcome.outcome !== 'Whole') throw new Error(describeOutcome(outcome));
process.exit(0);
