/**
 * The web console on loopback: bytes of the first load, the time until the overview says how the cluster stands, and
 * from a change of a status in the API until it stands on the screen. `--nodes N` (default 3), `--runs N`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import type { NodeUpdate } from '../src/api/resources.ts';
import { writeJson } from '../src/durable/file.ts';
import { launchBrowser, openTab } from '../tests/browser/browser.ts';
import { heldByWindow, steady, writeCluster } from '../tests/browser/cluster-objects.ts';
import { startTestConsole } from '../tests/browser/console.ts';
import { startTestCluster } from '../tests/cluster.ts';
import { repository } from '../tests/tier.ts';
import { median, say } from './measure.ts';

const { values: options } = parseArgs({
  options: { nodes: { type: 'string', default: '3' }, runs: { type: 'string', default: '15' } },
});
const nodes = Number(options.nodes);
const runs = Number(options.runs);
const bytesGoal = 250_000;
const msGoal = 1_000;

/** Put into the page before anything of it runs: notes when the page's statement, and a text, first stand there. */
const watcher = `
  const noted = (globalThis.noted = {});
  new MutationObserver(() => {
    if (noted.statement === undefined && document.querySelector('[data-statement]')) {
      requestAnimationFrame(() => { noted.statement ??= performance.now(); });
    }
    if (globalThis.wanted && noted.change === undefined && document.body.textContent.includes(globalThis.wanted)) {
      requestAnimationFrame(() => { noted.change ??= Date.now(); });
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
`;

/** Bytes, compressed as they are sent, of what index.html loads at once; chunks that pages load later are not in it. */
function firstLoad(): { js: number; css: number } {
  const dist = join(repository, 'web', 'dist');
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  const entries = readdirSync(join(dist, 'assets')).filter((name) => html.includes(name));
  const size = (ending: string) =>
    entries
      .filter((name) => name.endsWith(ending))
      .reduce(
        (sum, name) => sum + gzipSync(readFileSync(join(dist, 'assets', name)), { level: 9 }).length,
        0,
      );
  return { js: size('.js'), css: size('.css') };
}

/** What the watcher has noted, once it has. The console's policy forbids Playwright's own way of waiting: it evaluates. */
async function noted(page: Page, what: string): Promise<number> {
  for (;;) {
    const found = await page.evaluate<number | undefined>(`globalThis.noted?.${what}`);
    if (found !== undefined) return found;
    await sleep(20);
  }
}

const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-console-'));
const cluster = await startTestCluster();
const { client } = cluster;
const names = Array.from({ length: nodes }, (_, index) => `node-${String(index).padStart(4, '0')}`);
await writeCluster(client, { nodes: names });
const served = await startTestConsole({ ...cluster, dir });
const browser = await launchBrowser();
try {
  const sizes = firstLoad();
  const paints: number[] = [];
  const changes: number[] = [];
  const setStatus = async (status: NodeUpdate['status']) => {
    const update = await client.get(client.kinds.NodeUpdate, names[1] ?? '');
    await client.updateStatus(client.kinds.NodeUpdate, {
      ...update,
      ...(status === undefined ? {} : { status }),
    });
  };
  for (let run = 0; run < runs; run += 1) {
    const tab = await openTab(browser, 'about:blank');
    await tab.page.addInitScript(watcher);
    await tab.page.goto(await served.link());
    paints.push(await noted(tab.page, 'statement'));
    await tab.page.getByText('Nothing needs attention.').waitFor();
    await tab.page.evaluate("globalThis.wanted = '1 node is staged and held by a closed window'");
    const began = Date.now();
    await setStatus(heldByWindow('1.0.0', '1.1.0'));
    changes.push((await noted(tab.page, 'change')) - began);
    await setStatus(steady('1.0.0'));
    await tab.context.close();
  }
  const result = {
    nodes,
    runs,
    jsBytes: sizes.js,
    cssBytes: sizes.css,
    usefulPaintMs: Math.round(median(paints)),
    changeMs: Math.round(median(changes)),
  };
  say(`| ${nodes} nodes, ${runs} runs | median | goal |`);
  say('|---|---|---|');
  say(
    `| JavaScript of the first load, gzip | ${(result.jsBytes / 1000).toFixed(0)} kB | ≤ ${bytesGoal / 1000} kB |`,
  );
  say(`| style sheet of the first load, gzip | ${(result.cssBytes / 1000).toFixed(0)} kB | |`);
  say(`| first useful paint | ${result.usefulPaintMs} ms | ≤ ${msGoal} ms |`);
  say(`| a status change until it is on screen | ${result.changeMs} ms | ≤ ${msGoal} ms |`);
  await writeJson(join(repository, 'bench', 'results', `console-${nodes}.json`), result);
} finally {
  await browser.close();
  await served.close();
  await cluster.close();
  rmSync(dir, { recursive: true, force: true });
}
