import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium as driver, type Page } from 'playwright-core';
import { chromium, repository } from '../tier.ts';

const flags = [
  ...['--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];
const lookMs = 60_000;
const tabsMax = 80;
/** Tests beside these make networks on the host, which Chromium notices; the page asks again for what it lost. */
const networkChanged = 'net::ERR_NETWORK_CHANGED';
/** What has the focus, by the name that it bears for a reader. */
const focusedName =
  "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''";

export interface View {
  readonly width: number;
  readonly height: number;
  readonly theme?: 'light' | 'dark';
}

export const desktop: View = { width: 1440, height: 1000 };

/** A tab of the console, and what went wrong in it. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Goes to a deep link, below the console's base. */
  open(path: string): Promise<void>;
  /** Errors: an assertion that names what axe found. */
  assertAccessible(what: string): Promise<void>;
  /** Errors: an assertion, where the page threw, wrote an error, or asked anybody else than its own origin. */
  close(): Promise<void>;
  /** Draws what is seen into docs/console/, where SLUICE_PICTURES asks for it. */
  picture(name: string): Promise<void>;
  /** Runs the steps of a test; where one fails, the error also tells what the page showed. */
  run(steps: () => Promise<void>): Promise<void>;
  /** Waits until something is so in the cluster. Errors: an assertion that says what was waited for. */
  until(isSo: () => Promise<boolean>, what: string): Promise<void>;
  /** Presses the key of tabs until what bears the name has the focus. Errors: an assertion, where nothing ever has. */
  tabTo(name: string): Promise<void>;
  /** From the first on, errors in the browser's log are as they should be. */
  expectErrors(): void;
}

/** Debian's Chromium, with nothing of an earlier run. */
export async function launchBrowser(): Promise<Browser> {
  return await driver.launch({ executablePath: chromium, args: flags });
}

/** A new person at the console: a context of its own has no cookies of others. */
export async function openTab(browser: Browser, address: string, view: View = desktop): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.theme ?? 'light',
    reducedMotion: 'reduce',
    // Times in words and pictures do not depend on the machine.
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(lookMs);
  const { origin } = new URL(address);
  const faults: string[] = [];
  const logged: string[] = [];
  let expected = false;
  page.on('pageerror', (error) => faults.push(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || message.text().includes(networkChanged)) return;
    logged.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) {
      faults.push(`a request to ${request.url()}`);
    }
  });
  await page.goto(address);
  return {
    context,
    page,
    async open(path) {
      // The link logs in by itself; who leaves before that is not logged in.
      await page.getByRole('banner').waitFor();
      await page.goto(new URL(path, address.split('#')[0]).href);
    },
    async assertAccessible(what) {
      const { violations } = await new AxeBuilder({ page }).analyze();
      const told = violations.map(
        ({ id, help, nodes }) =>
          `${id}: ${help}\n  ${nodes.map((node) => node.html.slice(0, 200)).join('\n  ')}`,
      );
      assert.deepEqual(told, [], `axe on ${what}`);
    },
    async picture(name) {
      if (process.env.SLUICE_PICTURES === undefined) return;
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(repository, 'docs', 'console', `${name}.png`) });
    },
    async run(steps) {
      try {
        await steps();
      } catch (error) {
        const shown = await page.locator('body').ariaSnapshot();
        throw new Error(`${(error as Error).message}\nthe page ${page.url()} showed:\n${shown}`, {
          cause: error,
        });
      }
    },
    async until(isSo, what) {
      for (const end = Date.now() + lookMs; !(await isSo()); await sleep(50)) {
        assert.ok(Date.now() < end, `not in ${lookMs / 1000} s: ${what}`);
      }
    },
    async tabTo(name) {
      const passed: string[] = [];
      while (passed.length < tabsMax) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate<string>(focusedName);
        if (focused === name) return;
        passed.push(focused);
      }
      assert.fail(`no tab leads to ${name}: ${passed.join(' | ')}`);
    },
    async close() {
      assert.deepEqual([...faults, ...(expected ? [] : logged)], []);
      await context.close();
    },
    expectErrors: () => {
      expected = true;
    },
  };
}
