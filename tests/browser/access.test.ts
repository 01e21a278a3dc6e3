import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { sluiceGroup } from '../../src/api/kinds.ts';
import type { LoginAnswer } from '../../src/console/answers.ts';
import { wordsOf } from '../shell.ts';
import { needs, repository } from '../tier.ts';
import { digestOf, heldByWindow, steady, writeCluster } from './cluster-objects.ts';
import { startTestConsole } from './console.ts';
import { serve } from './served.ts';

const readOnly = [
  { apiGroups: ['config.openshift.io', 'machineconfiguration.openshift.io', sluiceGroup], resources: ['*'] },
  { apiGroups: [''], resources: ['nodes', 'configmaps', 'events'] },
].map((rule) => ({ ...rule, verbs: ['get', 'list', 'watch'] }));

describe('who may do what in the console', needs('browser'), () => {
  const served = serve(async (client) => {
    await writeCluster(client, {
      nodes: ['master-0', 'master-1', 'master-2'],
      agent: (name) => (name === 'master-2' ? heldByWindow('1.0.0', '1.1.0') : steady('1.0.0')),
    });
  });

  /** The token of a ServiceAccount with these rights. */
  async function tokenOf(name: string, rules: readonly object[]): Promise<string> {
    const { client } = served;
    const { kinds } = client;
    await client.create(kinds.ServiceAccount, { metadata: { name, namespace: 'default' } });
    await client.create(kinds.ClusterRole, { metadata: { name }, rules: [...rules] as never });
    await client.create(kinds.ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    });
    return (await client.createToken('default', name)).token;
  }

  async function logIn(token: string) {
    const tab = await served.visitor(served.console.url);
    tab.expectErrors(); // 401 before the login, 403 for what may not be seen.
    await tab.page.getByLabel('Bearer token').fill(token);
    await tab.page.getByRole('button', { name: 'Log in', exact: true }).click();
    return tab;
  }

  test('the page to log in says what to do, and why it did not work', async () => {
    const tab = await served.visitor(served.console.url);
    tab.expectErrors();
    await tab.page.getByRole('heading', { name: 'Log in to Sluice' }).waitFor();
    await tab.page.getByText('sluice console link --dir DIR').waitFor();
    await tab.assertAccessible('the page to log in');
    await tab.picture('login');
    await tab.page.getByLabel('Bearer token').fill('nonsense');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Not logged in' }).waitFor();
    await tab.close();
  });

  test('who has no token is told the command that gives a link, by the console that is asked', async () => {
    const socket = join(served.cluster.dir, 'with a blank.sock');
    const words = ['console', '--kubeconfig', served.cluster.kubeconfig, '--socket', socket];
    // The program may itself lie in a directory with a blank, and be called by a path from where somebody stood.
    const home = join(served.cluster.dir, 'my programs');
    mkdirSync(home);
    symlinkSync(join(repository, 'sluice'), join(home, 'sluice'));
    const child = spawn('./my programs/sluice', words, {
      cwd: served.cluster.dir,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    try {
      const [printed] = await once(child.stdout, 'data');
      const { origin } = new URL(String(printed));
      const asked = await fetch(`${origin}/api/login`);
      const { links, command } = (await asked.json()) as LoginAnswer;
      assert.equal(links, 'command');
      const tab = await served.visitor(`${origin}/`);
      tab.expectErrors();
      await tab.page.getByText(command ?? 'none', { exact: true }).waitFor();
      // From any directory, as it stands there.
      const [program = '', ...rest] = wordsOf(command ?? '');
      const link = spawnSync(program, rest, { cwd: '/', encoding: 'utf8' });
      assert.match(link.stdout, new RegExp(`^${origin}/#code=`), link.stderr);
      await tab.close();
      const elsewhere = await fetch(`${origin}/api/login`, { headers: { 'x-forwarded-for': '10.0.0.1' } });
      assert.deepEqual(await elsewhere.json(), { links: 'command' }, 'no path of this machine');
    } finally {
      child.kill();
      await ended;
    }
  });

  test('a console that gives no links, or only one when it starts, says so', async (t) => {
    for (const [links, says] of [
      [false, 'it takes tokens alone'],
      [true, 'For another, start it again'],
    ] as const) {
      const other = await startTestConsole(served.cluster, { links, socketName: undefined });
      t.after(() => other.close());
      const tab = await served.visitor(other.url);
      tab.expectErrors();
      await tab.page.getByText(says).waitFor();
      await tab.close();
    }
  });

  test('a token that may only look sees all, and its buttons say which right is missing', async () => {
    const tab = await logIn(await tokenOf('looker', readOnly));
    const { page } = tab;
    await page.getByText('system:serviceaccount:default:looker (by token)').waitFor();
    await page.getByText('1 node is staged and held by a closed window').waitFor();
    const open = page.getByRole('button', { name: 'Open a window' });
    assert.equal(await open.getAttribute('aria-disabled'), 'true');
    assert.match((await open.getAttribute('title')) ?? '', /no right to patch nodeupdates\.sluice\.dev/);
    await tab.assertAccessible('the overview of somebody who may only look');

    await page.getByRole('link', { name: 'Releases', exact: true }).first().click();
    const remove = page.getByRole('button', { name: 'Remove' });
    assert.equal(await remove.getAttribute('aria-disabled'), 'true');
    await remove.focus();
    await page
      .getByRole('tooltip')
      .getByText(/no right to patch internalreleaseimages/)
      .waitFor();
    await tab.close();
  });

  test('a button that is pressed all the same is refused by the cluster', async () => {
    const tab = await logIn(await tokenOf('presser', readOnly));
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    const answer = await tab.page.evaluate(async () => {
      const { csrf } = (await (await fetch('./api/session')).json()) as { csrf: string };
      const response = await fetch('./api/actions/openWindow', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
        body: JSON.stringify({ nodes: ['master-2'], notAfter: '2099-01-01T00:00:00Z' }),
      });
      return { status: response.status, text: await response.text() };
    });
    assert.equal(answer.status, 403, answer.text);
    assert.match(answer.text, /nodeupdates/);
    const { client } = served;
    assert.equal((await client.get(client.kinds.NodeUpdate, 'master-2')).spec.window, undefined);
    await tab.close();
  });

  test('a token without rights is let in, and told what it may not see', async () => {
    const tab = await logIn(await tokenOf('nobody', []));
    await tab.page.getByRole('heading', { name: 'You may not see the cluster version' }).waitFor();
    await tab.assertAccessible('the overview of somebody who may see nothing');
    await tab.close();
  });

  test('a link works once; no script reads the cookie; logging out ends it', async () => {
    const link = await served.console.link();
    const tab = await served.visitor(link);
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    const [cookie, ...others] = await tab.context.cookies();
    assert.deepEqual(others, []);
    assert.ok(cookie?.httpOnly);
    assert.equal(cookie?.sameSite, 'Strict');
    await tab.page.reload();
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();

    const second = await served.visitor(link);
    second.expectErrors();
    await second.page.getByText('this link was used already, or is too old').waitFor();

    await tab.page.getByRole('button', { name: 'Log out' }).click();
    await tab.page.getByRole('heading', { name: 'Log in to Sluice' }).waitFor();
    tab.expectErrors();
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Log in to Sluice' }).waitFor();
    await tab.close();
    await second.close();
  });

  test('what changes something needs the cookie, the token of the session, and this very site', async () => {
    const cookieOf = async () => {
      const code = new URL(await served.console.link()).hash.slice('#code='.length);
      const response = await fetch(new URL('api/session', served.console.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      const { csrf } = (await response.json()) as { csrf: string };
      return { csrf, cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
    };
    const { cookie, csrf } = await cookieOf();
    const other = await cookieOf();
    const ask = async (headers: Record<string, string>) =>
      (
        await fetch(new URL('api/actions/withdrawUpdate', served.console.url), {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: '{}',
        })
      ).status;
    assert.equal(await ask({}), 401);
    assert.equal(await ask({ cookie }), 403);
    assert.equal(await ask({ cookie, 'x-csrf-token': other.csrf }), 403);
    assert.equal(await ask({ cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' }), 403);
    assert.equal(await ask({ cookie, 'x-csrf-token': csrf, origin: 'http://evil.example.com' }), 403);
    assert.equal(await ask({ cookie, 'x-csrf-token': csrf }), 200);
    const forced = await fetch(new URL('api/actions/startUpdate', served.console.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie, 'x-csrf-token': csrf },
      body: JSON.stringify({ image: `example.com/x@${digestOf('c')}`, version: '1.1.0', force: true }),
    });
    assert.equal(forced.status, 400, 'whoever forces an update types its version, also without the page');
    const secret = await fetch(new URL('api/cluster/api/v1/secrets', served.console.url), {
      headers: { cookie },
    });
    assert.equal(secret.status, 403, 'the console reads no Secret, whoever asks');
  });

  test('it works under a path, whether the proxy in front takes it off or not', async () => {
    const below = await startTestConsole(served.cluster, {
      prefix: '/tools/sluice/',
      socketName: 'below.sock',
    });
    const tab = await served.visitor(await below.link());
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.page.getByRole('link', { name: 'Releases', exact: true }).first().click();
    assert.equal(new URL(tab.page.url()).pathname, '/tools/sluice/releases');
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Releases', level: 1 }).waitFor();
    const { origin } = new URL(below.url);
    const taken = await fetch(`${origin}/releases`);
    assert.equal(taken.status, 200);
    assert.match(await taken.text(), /<base href="\/tools\/sluice\/" \/>/);
    await tab.close();
    await below.close();
  });

  test('nothing inline runs, and nobody may put the page into a frame', async () => {
    const page = await fetch(served.console.url);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    const html = await page.text();
    const again = await fetch(served.console.url, {
      headers: { 'if-none-match': page.headers.get('etag') ?? '' },
    });
    assert.equal(again.status, 304);
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/);
    assert.doesNotMatch(html, /<style|\son[a-z]+=/);
  });
});
