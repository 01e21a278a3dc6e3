import type { AnyObject } from '../api/core.ts';
import { type ApplyOutcome, applyObject } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor } from '../kube/wait.ts';

export interface InstalledObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly outcome: ApplyOutcome;
}

const definitionKind = 'CustomResourceDefinition';
const establishedMs = 30_000;

/**
 * Makes what is shipped stand in a cluster, definitions first; run again, it changes nothing.
 * @param onObject told of each as it stands. Errors: those of the client; Timeout where a definition is not served.
 */
export async function installObjects(
  client: KubeClient,
  shipped: readonly AnyObject[],
  options: { readonly signal?: AbortSignal; readonly onObject?: (object: InstalledObject) => void } = {},
): Promise<InstalledObject[]> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const done: InstalledObject[] = [];
  const apply = async (object: AnyObject) => {
    const { outcome } = await applyObject(client, object, call);
    const { name, namespace } = object.metadata;
    const row = { kind: object.kind, ...(namespace === undefined ? {} : { namespace }), name, outcome };
    done.push(row);
    options.onObject?.(row);
  };
  const definitions = shipped.filter(({ kind }) => kind === definitionKind);
  for (const definition of definitions) await apply(definition);
  for (const { metadata } of definitions) await established(client, metadata.name, options.signal);
  for (const object of shipped) if (object.kind !== definitionKind) await apply(object);
  return done;
}

async function established(client: KubeClient, name: string, signal: AbortSignal | undefined): Promise<void> {
  await waitFor(
    client,
    client.kinds.CustomResourceDefinition,
    name,
    (object) =>
      object?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
      false,
    { timeoutMs: establishedMs, ...(signal === undefined ? {} : { signal }) },
  );
}
