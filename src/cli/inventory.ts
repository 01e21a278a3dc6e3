import { Command } from 'commander';
import type { Inventory } from '../bundle/inventory.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Digest } from '../oci/digest.ts';
import type { KnownBundle } from '../release/known.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import { note, parseFormat, print, printObject, printTable } from './output.ts';

interface Options extends ConnectOptions {
  readonly output: string;
  readonly releasesOnly?: boolean;
}

export function command(): Command {
  return withConnection(
    new Command('inventory').description(
      'Print what every control-plane node has, to carry out to where bundles are built',
    ),
  )
    .option('-o, --output <format>', 'json (what bundle build --since takes), yaml, table or name', 'json')
    .option('--releases-only', 'do not list blobs: enough for people, not for --since')
    .addHelpText(
      'after',
      `
Only what all control-plane nodes hold whole is listed: a delta that is built for it can be used on each of them.

Examples:
  sluice inventory > inventory.json
  sluice bundle build --payload oci:./release:1.1.1 --since inventory.json --key sluice.key --out delta.iso`,
    )
    .action(async (options: Options) => {
      const client = await connect(options);
      try {
        await show(client, options);
      } finally {
        await client.close();
      }
    });
}

async function show(client: KubeClient, options: Options): Promise<void> {
  const format = parseFormat(options.output);
  const { labels } = await import('../api/names.ts');
  const { knownBundles } = await import('../release/content.ts');
  const { items } = await client.list(client.kinds.Node, { labelSelector: labels.controlPlane });
  const nodes = items.map((node) => node.metadata.name);
  const known = await knownBundles(client);
  const held = heldByAll(known, nodes);
  for (const each of known) {
    const lacking = nodes.filter((node) => !each.heldBy.includes(node));
    if (lacking.length > 0)
      note(
        `note: ${each.name} is left out: ${lacking.join(', ')} ${lacking.length === 1 ? 'does' : 'do'} not hold it`,
      );
  }
  if (format === 'name') {
    for (const each of held) print(each.name);
    return;
  }
  if (format === 'table' || format === 'wide') {
    return printTable(
      ['RELEASE', 'DIGEST'],
      held.map((each) => [each.name, each.bundleDigest]),
    );
  }
  const { inventoryObject } = await import('../bundle/inventory.ts');
  const inventory =
    options.releasesOnly === true ? { releases: held } : await withBlobs(client, held, options);
  await printObject(inventoryObject(inventory), format);
}

/** Releases that every one of these nodes holds whole. */
export function heldByAll(bundles: readonly KnownBundle[], nodes: readonly string[]): KnownBundle[] {
  if (nodes.length === 0) return [];
  return bundles.filter((bundle) => nodes.every((node) => bundle.heldBy.includes(node)));
}

/** What the releases are made of, as the cluster's own registries say under their verified signatures. */
async function withBlobs(
  client: KubeClient,
  bundles: readonly KnownBundle[],
  options: Options,
): Promise<Inventory> {
  const { openClusterContent } = await import('./cluster-content.ts');
  const { trustedKeys } = await import('../release/trusted-keys.ts');
  const { openBundle } = await import('../bundle/bundle.ts');
  const { closure } = await import('../bundle/closure.ts');
  const content = await openClusterContent(client, options);
  try {
    const keys = await trustedKeys(client);
    const releases = [];
    for (const { name, bundleDigest } of bundles) {
      const bundle = await openBundle(content, { digest: bundleDigest }, keys);
      const blobs = new Set<Digest>();
      for await (const item of closure(content, bundle)) if (item.kind === 'blob') blobs.add(item.digest);
      releases.push({ name, bundleDigest, blobs });
    }
    return { releases, blobs: new Set(releases.flatMap((each) => [...each.blobs])) };
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'Unreachable') throw error;
    throw new SluiceError('Unreachable', `what the releases are made of cannot be read: ${error.message}`, {
      cause: error,
      next: 'Run it where the registries of the nodes can be reached (port 22625), or add --releases-only.',
    });
  } finally {
    await content.close();
  }
}
