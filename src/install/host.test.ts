import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../finalize/config-files.ts';
import { type HostFacts, hostFiles, keepHost, programIdOf, removeHost } from './host.ts';
import { labelOf } from './label.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-host-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** A systemd that only remembers which instances of the registry run. */
function playSystemd() {
  const running = new Set<string>();
  const said: string[] = [];
  return {
    said,
    running,
    systemctl: async (words: readonly string[]) => {
      const [verb = '', ...rest] = words;
      const unit = rest.at(-1) ?? '';
      if (verb === 'list-units')
        return [...running].map((each) => `${each} loaded active running x\n`).join('');
      said.push(words.join(' '));
      if (verb === 'enable' && rest.includes('--now')) running.add(unit);
      if (verb === 'stop' || (verb === 'disable' && rest.includes('--now'))) running.delete(unit);
      return '';
    },
  };
}

const facts = (programId: string, change: Partial<HostFacts> = {}): HostFacts => ({
  platform: 'kubernetes',
  worker: false,
  nodeName: 'master-0',
  address: '10.0.0.1',
  programId,
  server: 'https://10.96.0.1:443',
  caPem: 'CA\n',
  token: 'first',
  registry: { caPem: 'RCA\n', certPem: 'CERT\n', keyPem: 'KEY\n' },
  lock: { url: 'http://10.96.0.9:3333/', secret: 'shown-to-the-lock-1' },
  ...change,
});

function hostAt(name: string): string {
  mkdirSync(join(root, name, 'run/systemd/system'), { recursive: true });
  return join(root, name);
}

function programOf(text: string): string {
  const path = join(root, `program-${text}`);
  writeFileSync(path, text);
  return path;
}

test('a host gets program, units and credentials; again, nothing; a new token, nothing but the token', async () => {
  const systemd = playSystemd();
  const host = hostAt('one');
  const program = programOf('one');
  const id = await programIdOf(program);
  await keepHost(host, program, facts(id), systemd.systemctl);
  assert.equal(readFileSync(join(host, 'var/lib/sluice/program', id, 'sluice'), 'utf8'), 'one');
  assert.equal(readlinkSync(join(host, 'var/lib/sluice/program/current')), id);
  assert.equal(statSync(join(host, 'etc/sluice/registry/tls.key')).mode & 0o777, 0o600);
  assert.equal(statSync(join(host, 'etc/sluice/cluster/token')).mode & 0o777, 0o600);
  assert.deepEqual(systemd.said, [
    'daemon-reload',
    `enable --now sluice-registry@${id}.service`,
    'enable sluice-node.service',
    'restart --no-block sluice-node.service',
  ]);
  systemd.said.length = 0;
  assert.deepEqual(await keepHost(host, program, facts(id), systemd.systemctl), []);
  const changed = await keepHost(host, program, facts(id, { token: 'second' }), systemd.systemctl);
  assert.deepEqual(changed, ['/etc/sluice/cluster/token'], 'it is read again when it changes');
  assert.deepEqual(systemd.said, []);
});

test('a host shows the lock what its cluster asks for; another secret changes the file alone', async () => {
  const systemd = playSystemd();
  const host = hostAt('lock');
  const program = programOf('lock');
  const id = await programIdOf(program);
  await keepHost(host, program, facts(id), systemd.systemctl);
  const [secret, rule] = ['etc/sluice/cluster/lock-secret', 'etc/sluice/config.d/20-cluster.toml'];
  assert.equal(readFileSync(join(host, secret), 'utf8'), 'shown-to-the-lock-1\n');
  assert.equal(statSync(join(host, secret)).mode & 0o777, 0o600);
  const { config, problems, warnings } = await loadConfig([join(host, 'etc/sluice/config.d')]);
  assert.deepEqual([problems, config.fleetLock.secretFile], [[], `/${secret}`]);
  assert.ok(!warnings.some((each) => each.includes('secret_file')));
  systemd.said.length = 0;
  const lock = { url: 'http://10.96.0.9:3333/', secret: 'shown-to-the-lock-2' };
  assert.deepEqual(await keepHost(host, program, facts(id, { lock }), systemd.systemctl), [`/${secret}`]);
  assert.deepEqual(systemd.said, [], 'it is read at each question');
  const without = await keepHost(host, program, facts(id, { lock: { url: lock.url } }), systemd.systemctl);
  assert.deepEqual(without, [`/${rule}`]);
  assert.doesNotMatch(readFileSync(join(host, rule), 'utf8'), /secret_file/);
});

test('a new program: its registry answers before the old one is told to end, and the old program goes later', async () => {
  const systemd = playSystemd();
  const host = hostAt('two');
  const [old, next] = [programOf('old'), programOf('next')];
  const [oldId, nextId] = [await programIdOf(old), await programIdOf(next)];
  await keepHost(host, old, facts(oldId), systemd.systemctl);
  systemd.said.length = 0;
  await keepHost(host, next, facts(nextId), systemd.systemctl);
  assert.deepEqual(systemd.said, [
    `enable --now sluice-registry@${nextId}.service`,
    `disable sluice-registry@${oldId}.service`,
    `stop --no-block sluice-registry@${oldId}.service`,
    'enable sluice-node.service',
    'restart --no-block sluice-node.service',
  ]);
  assert.ok(existsSync(join(host, 'var/lib/sluice/program', oldId)), 'it still ends its pulls');
  await keepHost(host, next, facts(nextId, { token: 'x' }), systemd.systemctl);
  assert.ok(!existsSync(join(host, 'var/lib/sluice/program', oldId)));
  await removeHost(host, systemd.systemctl);
  assert.deepEqual([...systemd.running], []);
  assert.ok(!existsSync(join(host, 'etc/sluice/cluster')));
});

test('an installer that was cut short at any word to systemd does the rest the next time', async () => {
  const program = programOf('cut');
  const id = await programIdOf(program);
  for (const word of ['daemon-reload', 'enable --now', 'enable sluice-node', 'restart']) {
    const systemd = playSystemd();
    const host = hostAt(`cut-${word.replaceAll(' ', '-')}`);
    let cuts = 1;
    const systemctl = async (words: readonly string[]) => {
      if (words.join(' ').startsWith(word) && cuts-- > 0) throw new Error('cut short');
      return await systemd.systemctl(words);
    };
    await assert.rejects(keepHost(host, program, facts(id), systemctl), /cut short/);
    await keepHost(host, program, facts(id), systemctl);
    assert.deepEqual(
      systemd.said.filter((each, index) => systemd.said.indexOf(each) === index),
      [
        'daemon-reload',
        `enable --now sluice-registry@${id}.service`,
        'enable sluice-node.service',
        'restart --no-block sluice-node.service',
      ],
      word,
    );
    systemd.said.length = 0;
    assert.deepEqual(await keepHost(host, program, facts(id), systemctl), [], word);
    assert.deepEqual(systemd.said, [], word);
  }
});

test('back to the program before while it still lies there: it is the current one again', async () => {
  const systemd = playSystemd();
  const host = hostAt('back');
  const [old, next] = [programOf('back-old'), programOf('back-next')];
  const [oldId, nextId] = [await programIdOf(old), await programIdOf(next)];
  await keepHost(host, old, facts(oldId), systemd.systemctl);
  await keepHost(host, next, facts(nextId), systemd.systemctl);
  systemd.said.length = 0;
  await keepHost(host, old, facts(oldId), systemd.systemctl);
  assert.equal(readlinkSync(join(host, 'var/lib/sluice/program/current')), oldId);
  assert.equal(systemd.said.at(-1), 'restart --no-block sluice-node.service');
  await keepHost(host, old, facts(oldId, { token: 'x' }), systemd.systemctl);
  assert.ok(existsSync(join(host, 'var/lib/sluice/program/current/sluice')));
});

test('a new registry that never answers ends no old one, however often it is looked at', async () => {
  const systemd = playSystemd();
  const host = hostAt('mute');
  const [old, next] = [programOf('mute-old'), programOf('mute-next')];
  const [oldId, nextId] = [await programIdOf(old), await programIdOf(next)];
  await keepHost(host, old, facts(oldId), systemd.systemctl);
  let isMute = true;
  const systemctl = async (words: readonly string[]) => {
    const isStart = words.join(' ') === `enable --now sluice-registry@${nextId}.service`;
    if (isMute && isStart) throw new Error('Job for sluice-registry failed');
    const text = await systemd.systemctl(words);
    // systemd starts it anew every two seconds.
    const mute = `sluice-registry@${nextId}.service loaded activating auto-restart x\n`;
    return isMute && words[0] === 'list-units' ? `${text}${mute}` : text;
  };
  for (let look = 0; look < 2; look += 1)
    await assert.rejects(keepHost(host, next, facts(nextId), systemctl), /sluice-registry failed/);
  assert.deepEqual([...systemd.running], [`sluice-registry@${oldId}.service`]);
  isMute = false;
  await keepHost(host, next, facts(nextId), systemctl);
  assert.deepEqual([...systemd.running], [`sluice-registry@${nextId}.service`]);
  assert.equal(systemd.said.at(-1), 'restart --no-block sluice-node.service', 'the agent follows');
});

test('a worker gets the agent alone; one that was of the control plane loses its registry', async () => {
  const systemd = playSystemd();
  const host = hostAt('worker');
  const program = programOf('worker');
  const id = await programIdOf(program);
  await keepHost(host, program, facts(id), systemd.systemctl);
  systemd.said.length = 0;
  await keepHost(host, program, facts(id, { worker: true, nodeName: 'worker-0' }), systemd.systemctl);
  const unit = readFileSync(join(host, 'etc/systemd/system/sluice-node.service'), 'utf8');
  assert.match(
    readFileSync(join(host, 'etc/sluice/cluster/node.env'), 'utf8'),
    /^SLUICE_NODE_NAME=worker-0$/m,
  );
  assert.match(unit, /sluice node run --no-register-node --worker \\\n/);
  assert.deepEqual(systemd.said, [
    'daemon-reload',
    `disable sluice-registry@${id}.service`,
    `stop --no-block sluice-registry@${id}.service`,
    'enable sluice-node.service',
    'restart --no-block sluice-node.service',
  ]);
  const fresh = playSystemd();
  await keepHost(hostAt('fresh'), program, facts(id, { worker: true }), fresh.systemctl);
  assert.deepEqual([...fresh.running], []);
  assert.ok(!existsSync(join(root, 'fresh/etc/systemd/system/sluice-registry@.service')));
});

test('beside the machine-config operator the agent is none that stages or reboots', () => {
  const unit = hostFiles(facts('0', { platform: 'openshift' })).find(({ path }) =>
    path.endsWith('sluice-node.service'),
  );
  assert.match(unit?.text ?? '', /--os-driver none --registry-certificates \/etc\/containers\/certs\.d$/m);
  assert.doesNotMatch(unit?.text ?? '', /--os-driver auto|containerd/);
});

test('the command is linked where people look for it, and nobody else’s is touched', async () => {
  const systemd = playSystemd();
  const [host, other] = [hostAt('link'), hostAt('other')];
  const program = programOf('link');
  const id = await programIdOf(program);
  const at = (root: string) => join(root, 'usr/local/bin/sluice');
  mkdirSync(join(other, 'usr/local/bin'), { recursive: true });
  writeFileSync(at(other), 'of somebody else');
  for (const each of [host, other]) await keepHost(each, program, facts(id), systemd.systemctl);
  assert.equal(readlinkSync(at(host)), '/var/lib/sluice/program/current/sluice');
  for (const each of [host, other]) await removeHost(each, systemd.systemctl);
  assert.ok(!existsSync(at(host)));
  assert.equal(readFileSync(at(other), 'utf8'), 'of somebody else');
});

test('a program is labelled before it has its name; where that fails, it has none and nothing is started', async () => {
  const systemd = playSystemd();
  const host = hostAt('labels');
  const program = programOf('labels');
  const id = await programIdOf(program);
  const at = join(host, 'var/lib/sluice/program', id, 'sluice');
  const refuse = () => Promise.reject(new Error('no such label'));
  await assert.rejects(keepHost(host, program, facts(id), systemd.systemctl, refuse), /no such label/);
  assert.deepEqual([existsSync(at), systemd.said], [false, []]);
  const labelled: string[] = [];
  await keepHost(host, program, facts(id), systemd.systemctl, async (path) => {
    assert.ok(existsSync(join(host, path)) && !existsSync(at));
    labelled.push(path);
  });
  assert.deepEqual(labelled, [`/var/lib/sluice/program/${id}/sluice.new`]);
  assert.equal(readFileSync(at, 'utf8'), 'labels');
});

test('a host with SELinux is asked for the label by its own program, one without it for nothing', async () => {
  const host = hostAt('selinux');
  await labelOf(host)('/program');
  mkdirSync(join(host, 'sys/fs/selinux'), { recursive: true });
  writeFileSync(join(host, 'sys/fs/selinux/enforce'), '1');
  // This one has no chcon.
  await assert.rejects(labelOf(host)('/program'), {
    code: 'CommandFailed',
    message: /^chcon -t bin_t \/program: /,
  });
});

test('a host without systemd is left as it is', async () => {
  const host = join(root, 'three');
  await assert.rejects(
    keepHost(host, programOf('x'), facts('0'), playSystemd().systemctl),
    /runs no systemd/,
  );
  assert.ok(!existsSync(host));
});

test('a name that could say more in a unit is refused', () => {
  assert.throws(() => hostFiles(facts('0', { nodeName: 'a\nExecStart=/bin/sh' })), /no name of a node/);
  assert.throws(() => hostFiles(facts('0', { address: '10.0.0.1 --x' })), /no address/);
});
