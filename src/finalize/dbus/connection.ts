import { connect, type Socket } from 'node:net';
import { messageOf, SluiceError } from '../../errors/error.ts';
import { decodeMessage, encodeMessage, type Message, messageLength } from './wire.ts';

export interface Call {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
  /** Milliseconds; default 10 000. A person who is asked for a password takes longer. */
  readonly timeoutMs?: number;
}

/** An object that others call. Throwing a SluiceError answers with an error of the bus. */
export interface BusObject {
  readonly path: string;
  /** @param call.sender the unique name of the caller. */
  handle(call: Message): Promise<{ readonly signature: string; readonly body: readonly unknown[] }>;
}

export interface BusConnection {
  /** Errors: Unreachable where the bus is gone, Timeout, Forbidden, CommandFailed with the error's name and text. */
  call(call: Call): Promise<readonly unknown[]>;
  /** Follows a signal; the rule is one of the specification's ("Match Rules"). */
  follow(rule: string, handler: (signal: Message) => void): Promise<void>;
  /** Takes a name and answers for an object under it. Errors: Conflict where another holds the name. */
  serve(name: string, object: BusObject): Promise<void>;
  emit(path: string, iface: string, member: string, signature: string, body: readonly unknown[]): void;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Milliseconds that a call waits for its answer. */
const callMs = 10_000;
const bus = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;

/** The socket of the system bus: the specification's address, or the environment's. */
export function systemBusPath(environment: NodeJS.ProcessEnv = process.env): string {
  const address = environment.DBUS_SYSTEM_BUS_ADDRESS ?? '';
  return /unix:path=([^,;]+)/.exec(address)?.[1] ?? '/run/dbus/system_bus_socket';
}

/** Connects to a bus as this user. Errors: Unreachable. */
export async function connectBus(path: string): Promise<BusConnection> {
  const socket = await open(path);
  let serial = 0;
  const waiting = new Map<number, (message: Message | Error) => void>();
  const followers: { readonly rule: string; readonly handler: (signal: Message) => void }[] = [];
  let served: BusObject | undefined;
  let bytes = Buffer.alloc(0);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  void closed.then(() => {
    for (const settle of waiting.values())
      settle(new SluiceError('Unreachable', `the bus at ${path} is gone`));
    waiting.clear();
  });
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    try {
      for (let length = messageLength(bytes); length !== undefined && bytes.length >= length; ) {
        receive(decodeMessage(bytes.subarray(0, length)));
        bytes = bytes.subarray(length);
        length = messageLength(bytes);
      }
    } catch {
      socket.destroy(); // What follows could not be told apart any more.
    }
  });

  function receive(message: Message): void {
    if (message.type === 'signal') {
      for (const { handler } of followers) handler(message);
    } else if (message.type === 'call') {
      void answer(message);
    } else {
      waiting.get(message.replySerial ?? 0)?.(message);
      waiting.delete(message.replySerial ?? 0);
    }
  }

  function send(message: Omit<Message, 'serial' | 'sender'>): number {
    serial += 1;
    socket.write(encodeMessage({ ...message, serial }));
    return serial;
  }

  async function answer(call: Message): Promise<void> {
    const to = {
      replySerial: call.serial,
      ...(call.sender === undefined ? {} : { destination: call.sender }),
    };
    try {
      if (served === undefined || call.path !== served.path) {
        throw new SluiceError('NotFound', `there is no object ${call.path}`);
      }
      const given = await served.handle(call);
      if (call.noReply !== true) send({ type: 'return', ...to, ...given });
    } catch (error) {
      const name = error instanceof SluiceError ? error.code : 'Failed';
      const errorName =
        name === 'Forbidden' ? 'org.freedesktop.DBus.Error.AccessDenied' : `dev.sluice.Error.${name}`;
      if (call.noReply !== true)
        send({ type: 'error', ...to, errorName, signature: 's', body: [messageOf(error)] });
    }
  }

  async function call(what: Call): Promise<readonly unknown[]> {
    if (socket.destroyed) throw new SluiceError('Unreachable', `the bus at ${path} is gone`);
    const { promise, resolve } = Promise.withResolvers<Message | Error>();
    const { timeoutMs: _, ...message } = what;
    const id = send({ type: 'call', ...message, signature: what.signature ?? '', body: what.body ?? [] });
    waiting.set(id, resolve);
    const timer = setTimeout(() => {
      waiting.delete(id);
      resolve(new SluiceError('Timeout', `${what.destination} does not answer ${what.member}`));
    }, what.timeoutMs ?? callMs);
    const reply = await promise;
    clearTimeout(timer);
    if (reply instanceof Error) throw reply;
    if (reply.type === 'return') return reply.body;
    const denied = /AccessDenied|InteractiveAuthorizationRequired/.test(reply.errorName ?? '');
    const said = `${what.member}: ${reply.errorName}: ${String(reply.body[0] ?? '')}`;
    throw new SluiceError(denied ? 'Forbidden' : 'CommandFailed', said);
  }

  const connection: BusConnection = {
    call,
    async follow(rule, handler) {
      const follower = { rule, handler };
      followers.push(follower);
      try {
        await call({ ...bus, member: 'AddMatch', signature: 's', body: [rule] });
      } catch (error) {
        followers.splice(followers.indexOf(follower), 1);
        throw error;
      }
    },
    async serve(name, object) {
      served = object;
      const doNotQueue = 4;
      const [outcome] = await call({
        ...bus,
        member: 'RequestName',
        signature: 'su',
        body: [name, doNotQueue],
      });
      if (outcome !== 1)
        throw new SluiceError('Conflict', `another program holds the name ${name} on the bus`);
    },
    emit: (objectPath, iface, member, signature, body) => {
      if (socket.destroyed) return;
      send({ type: 'signal', path: objectPath, interface: iface, member, signature, body });
    },
    closed,
    close: () => socket.destroy(),
  };
  await call({ ...bus, member: 'Hello' });
  return connection;
}

/** Connects and authenticates as the user that we are (specification, "Authentication Protocol", EXTERNAL). */
async function open(path: string): Promise<Socket> {
  const socket = connect(path);
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      socket.destroy();
      const why = `the bus at ${path} cannot be reached: ${messageOf(error)}`;
      reject(new SluiceError('Unreachable', why, { cause: error }));
    };
    const timer = setTimeout(() => fail(new Error('it does not answer')), callMs);
    let said = '';
    const hear = (chunk: Buffer) => {
      said += chunk.toString('latin1');
      if (!said.includes('\r\n') && said.length < 1024) return;
      socket.off('data', hear);
      clearTimeout(timer);
      if (!said.startsWith('OK '))
        return fail(new Error(`it refuses this user: ${said.trim().slice(0, 200)}`));
      socket.write('BEGIN\r\n');
      socket.off('error', fail);
      socket.on('error', () => {}); // 'close' follows, and ends what waits.
      resolve(socket);
    };
    socket.once('error', fail);
    socket.on('data', hear);
    socket.once('connect', () => socket.write(`\0AUTH EXTERNAL ${uid}\r\n`));
  });
}
