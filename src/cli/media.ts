import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import type { NodeUpdateStatusMediaDelta } from '../api/resources.ts';
import { type ErrorCode, errorTable, isSluiceError, SluiceError } from '../errors/error.ts';
import type { AttachmentAnswer } from '../node/content-routes.ts';
import { shellWord } from '../process/shell.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import { mediaState } from './media-state.ts';
import { askUpNode, findNodeSocket, type NodeSocketOptions, upDirectoryOf } from './node-socket.ts';
import {
  formatFlag,
  formatHelp,
  humanBytes,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';
import { upDirectoryDefault } from './up-directory.ts';

type MediaOptions = NodeSocketOptions & ConnectOptions & { readonly output?: string; readonly mount?: true };

/** `sluice media attach|detach|ls`. */
export function command(): Command {
  const root = new Command().description('Attach media that carry release bundles to a node of this machine');
  local(root.command('attach'))
    .description('Verify the signatures on media and let the cluster use what is signed')
    .argument('<path>', 'a directory, an ISO or squashfs image, a tar archive or a disk')
    .option(
      '--mount',
      'mount the disk first where its file system is not read in user space (ext4, xfs, btrfs, FAT)',
    )
    .action(attach);
  local(root.command('detach'))
    .description('Let media go; copies that need them pause')
    .argument(
      '<path|bundle>',
      'the path or disk that was attached, or a bundle on it; unmounts what --mount has mounted',
    )
    .action(detach);
  withConnection(root.command('ls').description('Media on every node, refused ones with the reason'))
    .option(formatFlag, formatHelp)
    .action(list);
  root.addHelpText(
    'after',
    `
Nothing is copied by attaching: what is signed by a trusted key can be seen, checked and updated from at once.
Attaching verifies the signature; each byte of the content is hashed when it is read, and bundle verify reads all.
Unsigned or foreign content is refused, listed with its reason, and never served.

Examples:
  sluice media attach /run/media/SLUICE
  sluice media attach release-1.1.0.iso --node master-0
  sluice media ls
  sluice media detach /run/media/SLUICE`,
  );
  return root;
}

function local(command: Command): Command {
  return command
    .option('--node <name>', 'the node of this machine (default: the first)')
    .option(
      '--dir <dir>',
      `the directory of sluice up (default: that of the kubeconfig, ${upDirectoryDefault})`,
    )
    .option('--socket <file>', "the node's socket")
    .option('--kubeconfig <file>', 'finds the directory of sluice up')
    .option(formatFlag, formatHelp);
}

async function attach(path: string, options: MediaOptions): Promise<void> {
  const format = parseFormat(options.output);
  const place = options.mount === true ? await mounted(resolve(path)) : resolve(path);
  const socket = findNodeSocket(options);
  const answer = await attachAt(socket, place, options.mount === true);
  if (format === 'json' || format === 'yaml') await printObject(answer, format);
  else await show(answer, dirname(socket));
  const refused = answer.bundles.filter((each) => !each.verified);
  if (refused.length < answer.bundles.length) return;
  const [first] = refused;
  if (first === undefined || first.verified) return;
  const code = codeOf(first.reason);
  throw new SluiceError(code, `${first.name} is refused: ${first.message}`, {
    next: await remedy(code, socket),
  });
}

/** What was mounted for it is let go again where the node does not take it. */
async function attachAt(socket: string, path: string, isMounted: boolean): Promise<AttachmentAnswer> {
  try {
    return (await askUpNode(socket, 'POST /v1/media', { path })) as unknown as AttachmentAnswer;
  } catch (error) {
    const { unmountPlace } = await import('./media-mount.ts');
    if (isMounted) await unmountPlace(path).catch(() => {});
    throw error;
  }
}

/** What to do about a bundle that is refused. This command takes no key: the node goes by those of the cluster. */
async function remedy(code: ErrorCode, socket: string): Promise<string> {
  if (code !== 'SignatureUntrusted') {
    // Content is not read again by itself, since reading it costs.
    return `${errorTable[code].next} Then attach again; until then it stays listed as refused (sluice media ls).`;
  }
  const directory = upDirectoryOf(socket);
  const { upLayout } = await import('../up/layout.ts');
  const give =
    directory === undefined
      ? 'add it to the ConfigMap sluice-trusted-keys, as docs/bundles.md says under Keys'
      : `cp FILE ${shellWord(join(upLayout(directory).trustedKeys, 'NAME.pub'))}`;
  return `If you trust its maker, give the cluster the public key: ${give}; the node verifies it again by itself within ten seconds (sluice media ls).`;
}

/** Reasons in status are codes, except where status has a better word. */
function codeOf(reason: string): ErrorCode {
  if (reason === 'BundleConflict') return 'Conflict';
  return reason in errorTable ? (reason as ErrorCode) : 'MediaUnreadable';
}

async function show(answer: AttachmentAnswer, runDirectory: string): Promise<void> {
  const { keysFolder } = await import('../node/registry-side.ts');
  const { publicKeySuffix } = await import('../trust/keys.ts');
  note(`${answer.path} (${answer.format}) is attached to ${answer.node}`);
  for (const bundle of answer.bundles) {
    if (!bundle.verified) {
      note(`  ${paint('red', 'refused', process.stderr)}  ${bundle.name}: ${bundle.message}`);
      continue;
    }
    const by = `signed by ${bundle.signedBy.name} (${bundle.signedBy.id})`;
    note(`  ${paint('green', 'signature verified', process.stderr)} ${bundle.name}, ${by}`);
    // A node keeps every key that it trusts there, wherever it came from.
    const kept = join(runDirectory, keysFolder, `${bundle.signedBy.id}${publicKeySuffix}`);
    const words = [answer.path, '--key', existsSync(kept) ? kept : 'FILE'].map(shellWord).join(' ');
    note(`  content is hashed when it is read (all of it at once: sluice bundle verify ${words})`);
    if (bundle.delta !== undefined) note(`  ${deltaWords(bundle.delta)}`);
    // Of what was copied before, or runs, no update is offered for its disk alone.
    note(
      bundle.held === true
        ? `  ${answer.node} holds all of it already; how it stands on every node: sluice release status ${bundle.version}`
        : `  next: sluice upgrade --to ${bundle.version} --dry-run, then sluice release add ${bundle.version}`,
    );
  }
}

function deltaWords(delta: { needs: readonly string[]; bytes: number; missingBytes: number }): string {
  const needs = `a delta: it leaves out ${humanBytes(delta.bytes)} that ${delta.needs.join(' and ')} have`;
  if (delta.missingBytes === 0) return `${needs}; this node has all of it`;
  const lacks = paint('yellow', `this node lacks ${humanBytes(delta.missingBytes)} of it`, process.stderr);
  return `${needs}; ${lacks}, so bring the whole bundle, or that release first`;
}

async function detach(what: string, options: MediaOptions): Promise<void> {
  const { mountedPlaceOf, sweepMounts, unmountPlace } = await import('./media-mount.ts');
  // A path is told from a bundle's name by the node, which knows both; a relative path only makes sense here.
  const path = what.startsWith('ocp-release-bundle-') ? what : resolve(what);
  const media = (await mountedPlaceOf(path)) ?? path;
  const answer = await askUpNode(findNodeSocket(options), 'DELETE /v1/media', { media });
  await unmountPlace(String(answer.path));
  await sweepMounts();
  note(`${String(answer.path)} is detached from ${String(answer.node)}`);
}

/** What is read in user space needs no mount: that is tried first, since it lets no kernel parser near the disk. */
async function mounted(path: string): Promise<string> {
  const { openMedia } = await import('../media/media.ts');
  const { mountDevice, refuseHostDisk } = await import('./media-mount.ts');
  await refuseHostDisk(path);
  try {
    await (await openMedia(path)).close();
    return path;
  } catch (error) {
    if (!isSluiceError(error, 'MediaUnreadable')) throw error;
  }
  return await mountDevice(path);
}

async function list(options: MediaOptions): Promise<void> {
  const format = parseFormat(options.output);
  const client = await connect(options);
  try {
    const { items } = await client.list(client.kinds.NodeUpdate);
    const media = items.flatMap((update) =>
      (update.status?.media ?? []).map((each) => ({ node: update.metadata.name, ...each })),
    );
    if (format === 'json' || format === 'yaml') return await printObject(media, format);
    if (format === 'name') return print(media.map((each) => each.name).join('\n'));
    const copiesAt = new Map(items.map(({ metadata, status }) => [metadata.name, status?.copies]));
    if (media.length === 0) return note('no media are attached to any node');
    printTable(
      [
        'NODE',
        'BUNDLE',
        'VERSION',
        'STATE',
        'NEEDS',
        'FORMAT',
        'PATH',
        ...(format === 'wide' ? ['IDENTITY'] : []),
      ],
      media.map((each) => [
        each.node,
        each.name,
        each.version ?? '',
        mediaState(each, copiesAt.get(each.node)),
        needsOf(each.delta),
        each.format ?? '',
        each.path ?? '',
        ...(format === 'wide' ? [each.bundleDigest ?? each.message ?? ''] : []),
      ]),
    );
  } finally {
    await client.close();
  }
}

/** What must be on the node already: of a delta. */
function needsOf(delta: NodeUpdateStatusMediaDelta | undefined): string {
  if (delta === undefined) return '';
  const bases = delta.since.map((base) => base.name).join(',');
  return `${bases} (${delta.missingBytes === 0 ? 'there' : `${humanBytes(delta.missingBytes)} lacking`})`;
}
