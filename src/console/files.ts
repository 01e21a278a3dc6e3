import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { SluiceError, systemCode } from '../errors/error.ts';
import { shippedFile, shippedFiles } from '../program/files.ts';

/** The built files of `web/`, held in memory: a path is looked up, never joined, so none leads elsewhere. */
export interface ConsoleFiles {
  /** Answers a GET or HEAD; false where there is no such file. */
  send(path: string, request: IncomingMessage, response: ServerResponse): boolean;
  /** The page itself, for every address that is no file: its own router tells which part is shown. */
  sendPage(request: IncomingMessage, response: ServerResponse): void;
}

interface HeldFile {
  readonly body: Buffer;
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
  /** Made when it is first asked for; undefined where it would not be smaller. */
  gzip?: Buffer | undefined;
  tried: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};
const compressed = new Set(['.html', '.js', '.css', '.svg', '.json']);
const bytesMax = 64 * 1024 * 1024;
const pageName = 'index.html';
/** Where they lie in the program. */
const builtFolder = 'web/dist';
/** What the page is built with; the server puts the prefix there that it is reached under. */
const builtBase = '<base href="/" />';

/**
 * Reads the built files.
 *
 * @param directory where they are; undefined: those that came with the program.
 * @param prefix path under which the console is reached, `/` or `/sluice/`.
 * Errors: NotFound where nothing is built.
 */
export async function loadFiles(directory: string | undefined, prefix: string): Promise<ConsoleFiles> {
  const files = new Map<string, HeldFile>();
  let size = 0;
  for (const path of directory === undefined ? ownPaths() : await pathsBelow(directory)) {
    const read =
      directory === undefined ? shippedFile(`${builtFolder}/${path}`) : await readFile(join(directory, path));
    size += read.length;
    if (size > bytesMax)
      throw new SluiceError('InputTooLarge', `the console has more than ${bytesMax} bytes`);
    files.set(path, {
      body: path === pageName ? withBase(read.toString('utf8'), prefix) : read,
      type: types[extname(path)] ?? 'application/octet-stream',
      // Scripts and fonts are named by their content. Style sheets are trimmed after they got their name.
      cacheControl: /^assets\/.*\.(?:js|woff2)$/.test(path)
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
      etag: `"${createHash('sha256').update(read).update(prefix).digest('base64url').slice(0, 22)}"`,
      tried: false,
    });
  }
  const page = files.get(pageName);
  if (page === undefined) {
    throw new SluiceError('NotFound', `the console is not built: there is no ${builtFolder}/${pageName}`, {
      next: 'Build it: npm ci && npm run build:web',
    });
  }
  return {
    send(path, request, response) {
      const file = path === pageName ? undefined : files.get(path);
      if (file === undefined) return false;
      sendFile(file, request, response);
      return true;
    },
    sendPage: (request, response) => sendFile(page, request, response),
  };
}

function ownPaths(): string[] {
  const paths = shippedFiles(builtFolder).map((path) => path.slice(builtFolder.length + 1));
  // What the build keeps for itself is no part of the page.
  return paths.filter((path) => !path.startsWith('.'));
}

function withBase(html: string, prefix: string): Buffer {
  return Buffer.from(html.replace(builtBase, `<base href="${prefix}" />`));
}

function sendFile(file: HeldFile, request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('cache-control', file.cacheControl);
  response.setHeader('etag', file.etag);
  response.setHeader('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === file.etag) return void response.writeHead(304).end();
  if (!file.tried && compressed.has(extensionOf(file.type))) {
    const gzip = gzipSync(file.body, { level: 9 });
    file.gzip = gzip.length < file.body.length ? gzip : undefined;
  }
  file.tried = true;
  const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = takesGzip && file.gzip !== undefined ? file.gzip : file.body;
  response.writeHead(200, {
    'content-type': file.type,
    'content-length': body.length,
    ...(body === file.gzip ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function extensionOf(type: string): string {
  return Object.entries(types).find(([, each]) => each === type)?.[0] ?? '';
}

async function pathsBelow(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
