import { messageOf } from '../errors/error.ts';
import type { HttpClient } from '../http/client.ts';

const pingTimeoutMs = 5_000;

/** Undefined where a registry answers (200, or 401 without credentials), else why not. */
export async function pingRegistry(http: HttpClient, host: string): Promise<string | undefined> {
  try {
    const answer = await http.request({
      url: `https://${host}/v2/`,
      headersTimeoutMs: pingTimeoutMs,
      signal: AbortSignal.timeout(pingTimeoutMs),
    });
    await answer.discard();
    return [200, 401].includes(answer.status) ? undefined : `registry query: it answers ${answer.status}`;
  } catch (error) {
    return `registry query: ${messageOf(error)}`;
  }
}
