import type { ServerResponse } from 'node:http';
import type { KubeObject } from '../object.ts';
import type { Engine } from '../rest/engine.ts';
import { type WatchEvent, watchObjects } from '../rest/watch.ts';
import { metadataOf, tableOf } from '../table/table.ts';
import { type Exchange, includeObject, listQuery } from './exchange.ts';
import { flag, number, text } from './request.ts';
import { statusOf } from './respond.ts';

/** A watch without a time of its own ends after between one and two times this many seconds. */
const watchSecondsMin = 1_800;
/** Bytes that a client may leave unread before its watch is cut; it starts again where it was. */
const unreadBytesMax = 16 * 1024 * 1024;

/** Streams the events of a watch, one JSON object a line, until its time is over or one side ends it. */
export function serveWatch(engine: Engine, exchange: Exchange): void {
  const { response, info, served } = exchange;
  const { query } = info;
  const only = info.name === '' ? undefined : `metadata.name=${info.name}`;
  const line = lineOf(engine, exchange);
  let open = false;
  let stop: (() => void) | undefined;
  const end = () => {
    stop?.();
    stop = undefined;
    clearTimeout(timer);
    if (!response.writableEnded) response.end();
  };
  const seconds = number(query, 'timeoutSeconds') ?? watchSecondsMin * (1 + Math.random());
  const timer = setTimeout(end, Math.max(0, seconds) * 1000);
  response.on('close', end);
  try {
    stop = watchObjects(
      engine,
      served,
      info.namespace,
      {
        ...listQuery(info),
        fieldSelector: text(query, 'fieldSelector') ?? only,
        allowWatchBookmarks: flag(query, 'allowWatchBookmarks'),
      },
      (events) => {
        if (!open) open = begin(response);
        response.cork();
        for (const event of events) response.write(line(event));
        response.uncork();
        if (response.writableLength > unreadBytesMax) response.destroy();
      },
    );
  } catch (error) {
    clearTimeout(timer);
    const status = statusOf(error);
    if (status.code !== 410) throw error;
    // A watch from a version that is gone is opened and told so, as the real server does.
    begin(response);
    response.end(`{"type":"ERROR","object":${JSON.stringify(status.body())}}\n`);
    return;
  }
  if (!open) open = begin(response);
}

function begin(response: ServerResponse): true {
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
  response.flushHeaders();
  return true;
}

interface Line {
  readonly type: string;
  readonly json: string;
  readonly bytes: Uint8Array;
}

/** The line of a change, made once for all who watch it. */
const lines = new WeakMap<object, Line>();

function plainLine({ type, json, change }: WatchEvent): string | Uint8Array {
  const known = change && lines.get(change);
  if (known?.type === type && known.json === json) return known.bytes;
  const text = `{"type":"${type}","object":${json}}\n`;
  if (change === undefined) return text;
  const bytes = Buffer.from(text);
  lines.set(change, { type, json, bytes });
  return bytes;
}

/** How an event is written, in the form that was asked for. */
function lineOf(
  engine: Engine,
  { accepted, served, info }: Exchange,
): (event: WatchEvent) => string | Uint8Array {
  if (accepted.form === 'json') return plainLine;
  if (accepted.form === 'metadata') {
    return ({ type, json }) =>
      `${JSON.stringify({ type, object: metadataOf(JSON.parse(json) as KubeObject) })}\n`;
  }
  let first = true;
  return ({ type, json }) => {
    const object = JSON.parse(json) as KubeObject;
    if (type === 'BOOKMARK') {
      const { resourceVersion } = object.metadata;
      const empty = tableOf(served, [], includeObject(info), engine.clock.now());
      return `${JSON.stringify({ type, object: { ...empty, metadata: { resourceVersion } } })}\n`;
    }
    const table = tableOf(served, [object], includeObject(info), engine.clock.now());
    // Only the first event describes the columns: clients keep them.
    const shown = first ? table : { ...table, columnDefinitions: null };
    first = false;
    return `${JSON.stringify({ type, object: shown })}\n`;
  };
}
