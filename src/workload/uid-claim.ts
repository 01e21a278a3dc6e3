import { createServer, type Server } from 'node:net';

/**
 * Takes a uid for one container: an abstract socket of its name, which the kernel grants to one process of this host
 * and takes back when that ends. Undefined where another process has it.
 */
export async function claimUid(uid: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return await new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ path: `\0sluice-sandbox-uid-${uid}` }, () => {
      server.unref();
      resolve(server);
    });
  });
}
