import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { KubeClient } from './client.ts';
import { isAlreadyExists } from './error.ts';

/** Creates an object where it is missing; somebody else who makes it at the same time does no harm. Errors: ApiError. */
export async function createOnce<T extends KubeObject>(
  client: KubeClient,
  kind: KindRef<T>,
  object: Parameters<typeof client.create<T>>[1],
): Promise<void> {
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
