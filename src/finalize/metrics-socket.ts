import { rmSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';

const connectionsMax = 32;
/** Milliseconds that a reader has. */
const readMs = 5_000;

/**
 * Writes the metrics to whoever connects, then ends: a plain dump without HTTP, as zincati's promsock, which
 * local_exporter and socat read. Everybody on the host may.
 */
export async function serveMetrics(
  path: string,
  render: () => Promise<string>,
): Promise<{ close(): Promise<void> }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => {});
    // Whoever does not read takes no place from those who do.
    setTimeout(() => socket.destroy(), readMs).unref();
    render().then(
      (text) => socket.end(text),
      () => socket.destroy(),
    );
  });
  server.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o666);
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}
