import { faultPoint } from '../src/durable/fault.ts';
import type { KubeClient } from '../src/kube/client.ts';

const writes = ['create', 'update', 'updateStatus', 'patch', 'delete'] as const;

/**
 * The client with a fault point before and after every write, so that a test can kill its process there: before, the
 * write is lost with everything after it; after, it is done and nobody has heard of it.
 */
export function faultyClient(client: KubeClient): KubeClient {
  const faulty: Record<string, unknown> = { ...client };
  for (const name of writes) {
    const write = client[name] as (...args: unknown[]) => Promise<unknown>;
    faulty[name] = async (...args: unknown[]) => {
      const { kind } = args[0] as { kind: string };
      // Events and Leases tell of what happens; nothing is decided by them.
      if (kind === 'Event' || kind === 'Lease') return await write(...args);
      faultPoint('api-write');
      const answer = await write(...args);
      faultPoint('api-write');
      return answer;
    };
  }
  return faulty as unknown as KubeClient;
}
