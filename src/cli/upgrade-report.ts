import { Command } from 'commander';
import type { ConfigMap } from '../api/core.ts';
import { names } from '../api/names.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { shellWord } from '../process/shell.ts';
import type { TrustedKey } from '../trust/keys.ts';
import type { UpdateReport } from '../update/report.ts';
import { type ConnectOptions, withClient, withConnection } from './connect.ts';
import { formatFlag, formatHelp, note, parseFormat, print, printObject, renderTable } from './output.ts';
import { updateReportLines } from './upgrade-report-view.ts';

interface ReportOptions extends ConnectOptions {
  readonly out?: string;
  readonly key?: string;
  readonly output?: string;
}

/** Bytes of a report file; the envelope itself has a limit of its own. */
const reportBytesMax = 8 * 1024 * 1024;

/** `sluice upgrade report [ls|show|key|verify]`. */
export function reportCommand(): Command {
  const root = new Command('report').description(
    'Signed reports of completed updates, to carry out and verify',
  );
  withConnection(root.command('ls').description('Every report that the cluster keeps, newest first'))
    .option(formatFlag, formatHelp)
    .action((_: object, self: Command) => {
      const options = self.optsWithGlobals() as ReportOptions;
      return withClient(options, (client) => list(client, options));
    });
  withConnection(
    root
      .command('show', { isDefault: true })
      .description('The report of an update; with --out as files to carry out'),
  )
    .argument('[name]', 'a version or a name out of ls (default: the newest)')
    .option('--out <dir>', 'write the signed report and the public key into this directory, which is there')
    .option(formatFlag, formatHelp)
    .action(async (name: string | undefined, _: object, self: Command) => {
      const options = self.optsWithGlobals() as ReportOptions;
      if (options.out !== undefined) await requireDirectory(options.out);
      return withClient(options, (client) => show(client, name, options));
    });
  withConnection(root.command('key').description('Print the public key by which this cluster signs')).action(
    (_: object, self: Command) =>
      withClient(self.optsWithGlobals() as ReportOptions, async (client) => {
        const key = await clusterKey(client);
        note(`fingerprint ${key.fingerprint}`);
        process.stdout.write(key.publicPem);
      }),
  );
  root
    .command('verify')
    .description('Whether a report was signed by this key and never changed; needs no cluster')
    .argument('<file>', 'the report')
    .requiredOption('--key <file>', 'the public key of the cluster, got from it before')
    .option(formatFlag, formatHelp)
    .action((file: string, _: object, self: Command) =>
      verify(file, self.optsWithGlobals() as ReportOptions),
    );
  return root.addHelpText(
    'after',
    `
A report says who let the update through and in spite of what, what every gate and the preflight said, and by which
boots each node came to the release. It is a DSSE envelope with an in-toto statement, signed by a key that only the
controller of the cluster can read. Get its public half once, early, and keep it where reports are verified.

Examples:
  sluice upgrade report key > cluster.pub
  sluice upgrade report ls
  sluice upgrade report                             The newest, to read
  sluice upgrade report show 1.1.0 --out /media/usb
  sluice upgrade report verify /media/usb/update-1.0.0-to-1.1.0.dsse.json --key cluster.pub`,
  );
}

interface FoundReport {
  readonly name: string;
  readonly text: string;
  readonly report: UpdateReport;
  readonly signedBy: TrustedKey;
}

/** Every report in the cluster by its own key, newest first. One that cannot be read is told and left out. */
async function reportsOf(client: KubeClient): Promise<FoundReport[]> {
  const { recordKeys, recordLabel, newestRecordFirst, unpacked } = await import('../update/record.ts');
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const { items } = await client.list(client.kinds.ConfigMap, { namespace, labelSelector: recordLabel });
  const found: FoundReport[] = [];
  for (const object of items.sort(newestRecordFirst)) {
    const text = unpacked(object, recordKeys.report);
    if (text !== undefined) found.push(await readReport(object, text, recordKeys.publicKey));
  }
  return found;
}

async function readReport(
  { metadata, data }: ConfigMap,
  text: string,
  keyName: string,
): Promise<FoundReport> {
  const { parseTrustedKey } = await import('../trust/keys.ts');
  const key = parseTrustedKey('the key of the cluster', data?.[keyName] ?? '');
  return { name: metadata.name, text, ...(await opened(text, key)) };
}

async function opened(
  text: string,
  key: TrustedKey,
): Promise<{ report: UpdateReport; signedBy: TrustedKey }> {
  const { openEnvelope } = await import('../trust/dsse.ts');
  const { readStatement } = await import('../update/report.ts');
  const { body, signedBy } = openEnvelope(text, [key]);
  return { report: readStatement(body), signedBy };
}

async function clusterKey(client: KubeClient): Promise<TrustedKey> {
  const { reportKeyKeys, reportKeyName } = await import('../update/reporter.ts');
  const { parseTrustedKey } = await import('../trust/keys.ts');
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const object = await client.tryGet(client.kinds.ConfigMap, reportKeyName, namespace);
  const pem = object?.data?.[reportKeyKeys.publicKey];
  if (pem === undefined) {
    throw new SluiceError('NotFound', `there is no key yet (ConfigMap ${reportKeyName} in ${namespace})`, {
      next: 'The controller makes it when the first release is completed; does it run?',
    });
  }
  return parseTrustedKey(reportKeyName, pem);
}

async function list(client: KubeClient, options: ReportOptions): Promise<void> {
  const format = parseFormat(options.output);
  const found = await reportsOf(client);
  const rows = found.map(({ name, report, signedBy }) => ({
    name,
    from: report.accepted.from.version,
    to: report.accepted.to.version,
    completedAt: report.completedAt,
    risksPassed: report.accepted.findings.filter((finding) => finding.passedBy !== undefined).length,
    signedBy: signedBy.fingerprint,
  }));
  if (format === 'json' || format === 'yaml') return await printObject(rows, format);
  if (format === 'name') return rows.length === 0 ? undefined : print(rows.map((row) => row.name).join('\n'));
  if (rows.length === 0) return note('No update was completed here yet: the first release has no report.');
  print(
    renderTable(
      ['NAME', 'FROM', 'TO', 'COMPLETED', 'RISKS PASSED', 'KEY'],
      rows.map((row) => [
        row.name,
        row.from,
        row.to,
        row.completedAt,
        String(row.risksPassed),
        format === 'wide' ? row.signedBy : row.signedBy.slice(0, 16),
      ]),
    ),
  );
}

async function show(client: KubeClient, wanted: string | undefined, options: ReportOptions): Promise<void> {
  const format = parseFormat(options.output);
  const all = await reportsOf(client);
  const found = all.find(
    ({ name, report }) => wanted === undefined || name === wanted || report.accepted.to.version === wanted,
  );
  if (found === undefined) {
    const what =
      wanted === undefined
        ? 'no update was completed here yet, so there is no report'
        : `there is no report of ${wanted}`;
    throw new SluiceError('NotFound', what, {
      next:
        all.length === 0
          ? 'The first update that is completed here writes one: sluice upgrade --to VERSION.'
          : 'See which there are: sluice upgrade report ls.',
    });
  }
  if (options.out !== undefined) return await writeOut(options.out, found);
  await printReport(found, found.name, parseFormat(format));
}

/** The place of a disk that is not mounted must not be made: what was to be carried out would stay on this host. */
async function requireDirectory(path: string): Promise<void> {
  const { stat } = await import('node:fs/promises');
  const found = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isDirectory() === true) return;
  const what = found === undefined ? `there is no directory ${path}` : `${path} is not a directory`;
  throw new SluiceError('NotFound', `${what}, so nothing was written`, {
    next: `Mount the disk that it is on; or, where it is to be on this host: mkdir -p ${shellWord(path)}`,
  });
}

async function writeOut(directory: string, { report, text, signedBy }: FoundReport): Promise<void> {
  const { writeFile } = await import('node:fs/promises');
  const { join } = await import('node:path');
  const { from, to } = report.accepted;
  const path = join(directory, `update-${plain(from.version)}-to-${plain(to.version)}.dsse.json`);
  const keyPath = join(directory, 'report.pub');
  await writeFile(path, text);
  await writeFile(keyPath, signedBy.publicPem);
  note(`written: ${path}`);
  note(`written: ${keyPath} (fingerprint ${signedBy.fingerprint})`);
  note(
    'A key that travels with its report proves nothing: compare the fingerprint with what you have got before.',
  );
  print(path);
}

/** A version is text from the cluster: in the name of a file stands only what cannot lead elsewhere. */
function plain(version: string): string {
  return version.replace(/[^0-9A-Za-z.+-]/g, '_').replace(/^\.+/, '') || 'unknown';
}

async function verify(file: string, options: ReportOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { readFile, stat } = await import('node:fs/promises');
  const { parseTrustedKey } = await import('../trust/keys.ts');
  const { basename } = await import('node:path');
  const keyFile = options.key ?? '';
  if ((await stat(file)).size > reportBytesMax) {
    throw new SluiceError('InputTooLarge', `${file} has more than ${reportBytesMax} bytes: no report has`);
  }
  const key = parseTrustedKey(basename(keyFile), await readFile(keyFile, 'utf8'));
  const found = await opened(await readFile(file, 'utf8'), key);
  await printReport(found, basename(file), format);
  note(`verified: ${file} was signed by ${keyFile} and not changed since`);
}

async function printReport(
  { report, signedBy }: { report: UpdateReport; signedBy: TrustedKey },
  name: string,
  format: ReturnType<typeof parseFormat>,
): Promise<void> {
  if (format === 'json' || format === 'yaml') return await printObject(report, format);
  if (format === 'name') return print(name);
  print(updateReportLines(report, `${signedBy.name} (${signedBy.fingerprint})`).join('\n'));
}
