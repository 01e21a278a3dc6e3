/** `npm run build:web`: builds the console where its sources have changed. */
import { ensureBuilt } from '../src/console/build.ts';
import { SluiceError } from '../src/errors/error.ts';
import { runScript } from './script.ts';

await runScript(async () => {
  const built = await ensureBuilt((text) => process.stderr.write(`${text}\n`));
  if ('next' in built) throw new SluiceError('NotFound', 'vite is not installed', { next: built.next });
  process.stderr.write(`the console is ${built.state === 'fresh' ? 'built already' : 'built'}: web/dist\n`);
});
