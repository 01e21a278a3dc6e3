import { after, before } from 'node:test';
import type { Browser } from 'playwright-core';
import type { KubeClient } from '../../src/kube/client.ts';
import { startTestCluster, type TestCluster } from '../cluster.ts';
import { launchBrowser, openTab, type Tab, type View } from './browser.ts';
import { startTestConsole, type TestConsole } from './console.ts';

/** A real API with written objects, a real console before it, and a browser: for the tests of one suite. */
export interface Served {
  readonly cluster: TestCluster;
  readonly client: KubeClient;
  readonly console: TestConsole;
  /** Somebody who was given a link, at a path below the console's base. */
  tab(path?: string, view?: View): Promise<Tab>;
  /** Somebody at an address, who may not be logged in. */
  visitor(address: string, view?: View): Promise<Tab>;
}

/** Starts it before the tests of the suite that calls this, and ends it after them. */
export function serve(write: (client: KubeClient) => Promise<void>): Served {
  let cluster: TestCluster | undefined;
  let console: TestConsole | undefined;
  let browser: Browser | undefined;
  before(async () => {
    cluster = await startTestCluster();
    await write(cluster.client);
    console = await startTestConsole(cluster);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await console?.close();
    await cluster?.close();
  });
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('the suite has not begun');
    return part;
  };
  return {
    get cluster() {
      return started(cluster);
    },
    get client() {
      return started(cluster).client;
    },
    get console() {
      return started(console);
    },
    async tab(path = '', view) {
      const tab = await openTab(started(browser), await started(console).link(), view);
      if (path !== '') await tab.open(path);
      return tab;
    },
    visitor: (address, view) => openTab(started(browser), address, view),
  };
}
