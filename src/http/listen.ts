import { isIP } from 'node:net';
import { SluiceError } from '../errors/error.ts';

/** `127.0.0.1:8080`, `[::1]:8080` as address and port; port 0 takes a free one. Errors: Usage. */
export function parseListen(text: string): { address: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? -1);
  if (isIP(address) === 0 || port < 0 || port > 65535) {
    throw new SluiceError('Usage', `'${text}' is not address:port`, {
      next: 'Write it as 127.0.0.1:8080 or [::1]:8080.',
    });
  }
  return { address, port };
}
