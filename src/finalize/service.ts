import { SluiceError } from '../errors/error.ts';
import type { BusConnection, BusObject } from './dbus/connection.ts';
import type { Message, Variant } from './dbus/wire.ts';
import type { Marker } from './marker.ts';
import type { AgentReport } from './report.ts';

/** The name on the system bus, which is also that of the interface. */
export const busName = 'dev.sluice.Node1';
export const busPath = '/dev/sluice/Node1';
const propertiesInterface = 'org.freedesktop.DBus.Properties';
/** Asked of polkit for whoever is not root (deploy/systemd/dev.sluice.node1.policy): it asks for root's password. */
const polkitAction = 'dev.sluice.node1.change-window';
/** A person may take this long to answer polkit. */
const polkitMs = 120_000;
/** An approval that is not used by then was about another day. Seconds. */
const approvalSeconds = 3600;

export interface ServiceOptions {
  readonly report: () => AgentReport | undefined;
  readonly setWindow: (window: Marker | undefined) => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What changes something: only root may, and whom polkit takes for an administrator. */
const changes: readonly string[] = ['StartWindow', 'StopWindow', 'Approve'];

/** Whether a user may call a method without being asked. Pure. */
export function mayCall(uid: number, member: string): boolean {
  return uid === 0 || !changes.includes(member);
}

/** The permission of somebody who has seen what is staged and says OK: for this release, once, for an hour. Pure. */
export function approval(report: AgentReport | undefined, release: string, now: number): Marker {
  const staged = report?.os.staged;
  if (staged === undefined)
    throw new SluiceError('Conflict', 'no update is staged on this node, so there is nothing to approve', {
      next: 'See what it runs and waits for: sluice node status.',
    });
  const known = [staged.version, staged.digest].filter((name) => name !== undefined);
  if (release !== '' && !known.includes(release)) {
    throw new SluiceError('Conflict', `${release} is not staged; staged is ${known[0]}`, {
      next: `Look at that one first; who means it: sluice node approve ${known[0]}.`,
    });
  }
  return { notAfter: Math.floor(now / 1000) + approvalSeconds, once: true, release: staged.digest };
}

/** The agent on the system bus. `changed` tells everybody who listens what a new report changed. */
export function createService(options: ServiceOptions): {
  attach(connection: BusConnection): Promise<void>;
  changed(report: AgentReport): void;
} {
  let connection: BusConnection | undefined;
  let before = new Map<string, string>();

  const object: BusObject = {
    path: busPath,
    async handle(call) {
      if (call.interface === busName || call.interface === undefined) return await method(call);
      if (call.interface === propertiesInterface) return property(call);
      if (call.member === 'Introspect') return { signature: 's', body: [introspection] };
      if (call.member === 'Ping') return { signature: '', body: [] };
      throw new SluiceError('NotFound', `the interface ${call.interface} is not known`);
    },
  };

  async function method(call: Message) {
    const member = call.member ?? '';
    if (!changes.includes(member)) throw new SluiceError('NotFound', `the method ${member} is not known`);
    await authorize(call, member);
    if (member === 'StopWindow') await options.setWindow(undefined);
    else if (member === 'Approve') {
      expectSignature(call, 's');
      await options.setWindow(approval(options.report(), String(call.body[0]), options.now()));
    } else {
      expectSignature(call, 'xbs');
      const [end, once, release] = call.body as [bigint, boolean, string];
      if (Number(end) * 1000 <= options.now())
        throw new SluiceError('InputInvalid', 'the end lies in the past');
      await options.setWindow({ notAfter: Number(end), once, ...(release === '' ? {} : { release }) });
    }
    return { signature: '', body: [] };
  }

  async function authorize(call: Message, member: string): Promise<void> {
    if (connection === undefined || call.sender === undefined)
      throw new SluiceError('Forbidden', 'nobody asks');
    const [uid] = await connection.call({
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'GetConnectionUnixUser',
      signature: 's',
      body: [call.sender],
    });
    if (mayCall(Number(uid), member)) return;
    const subject = ['system-bus-name', [['name', { signature: 's', value: call.sender }]]];
    const allowUserInteraction = 1;
    const [answer] = await connection
      .call({
        destination: 'org.freedesktop.PolicyKit1',
        path: '/org/freedesktop/PolicyKit1/Authority',
        interface: 'org.freedesktop.PolicyKit1.Authority',
        member: 'CheckAuthorization',
        signature: '(sa{sv})sa{ss}us',
        body: [subject, polkitAction, [], allowUserInteraction, ''],
        timeoutMs: polkitMs,
      })
      .catch(() => [[false]]);
    if ((answer as unknown[])[0] !== true) {
      throw new SluiceError('Forbidden', `only root may call ${member}, and uid ${uid} is not authorised`);
    }
  }

  function property(call: Message) {
    const all = propertiesOf(options.report());
    if (call.member === 'GetAll') return { signature: 'a{sv}', body: [[...all]] };
    const found = call.member === 'Get' ? all.get(String(call.body[1])) : undefined;
    if (found === undefined)
      throw new SluiceError('NotFound', `the property ${String(call.body[1])} is not known`);
    return { signature: 'v', body: [found] };
  }

  return {
    async attach(to) {
      connection = to;
      await to.serve(busName, object);
    },
    changed(report) {
      const now = propertiesOf(report);
      const texts = new Map([...now].map(([name, { value }]) => [name, JSON.stringify(value)]));
      const changed = [...now].filter(([name]) => texts.get(name) !== before.get(name));
      const staged =
        texts.get('StagedDigest') !== before.get('StagedDigest') && report.os.staged !== undefined;
      before = texts;
      if (changed.length === 0) return;
      connection?.emit(busPath, propertiesInterface, 'PropertiesChanged', 'sa{sv}as', [busName, changed, []]);
      if (!staged) return;
      const { version = '', digest = '' } = report.os.staged ?? {};
      connection?.emit(busPath, busName, 'UpdateStaged', 'ss', [version, digest]);
    },
  };
}

function expectSignature(call: Message, signature: string): void {
  if (call.signature === signature) return;
  throw new SluiceError('InputInvalid', `${call.member} takes (${signature}), not (${call.signature})`);
}

function propertiesOf(report: AgentReport | undefined): Map<string, Variant> {
  const text = (value: string | undefined): Variant => ({ signature: 's', value: value ?? '' });
  const holds = (report?.holds ?? []).map(({ gate, reason, message, since }) => [
    gate,
    reason,
    message,
    since,
  ]);
  return new Map<string, Variant>([
    ['State', text(report?.state)],
    ['BootedVersion', text(report?.os.booted?.version)],
    ['BootedDigest', text(report?.os.booted?.digest)],
    ['StagedVersion', text(report?.os.staged?.version)],
    ['StagedDigest', text(report?.os.staged?.digest)],
    ['NextPossible', text(report?.nextPossible)],
    ['Strategies', { signature: 'as', value: report?.strategies ?? [] }],
    ['Holds', { signature: 'a(ssss)', value: holds }],
  ]);
}

const readOnly = (name: string, type: string) => `<property name="${name}" type="${type}" access="read"/>`;

const introspection = `<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node>
 <interface name="${busName}">
  <method name="StartWindow"><arg name="notAfter" type="x" direction="in"/><arg name="once" type="b" direction="in"/><arg name="release" type="s" direction="in"/></method>
  <method name="StopWindow"/>
  <method name="Approve"><arg name="release" type="s" direction="in"/></method>
  <signal name="UpdateStaged"><arg name="version" type="s"/><arg name="digest" type="s"/></signal>
  ${[...propertiesOf(undefined)].map(([name, { signature }]) => readOnly(name, signature)).join('\n  ')}
 </interface>
 <interface name="${propertiesInterface}">
  <method name="Get"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/></method>
  <method name="GetAll"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/></method>
  <signal name="PropertiesChanged"><arg type="s"/><arg type="a{sv}"/><arg type="as"/></signal>
 </interface>
 <interface name="org.freedesktop.DBus.Introspectable"><method name="Introspect"><arg type="s" direction="out"/></method></interface>
</node>
`;
