import { names } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import { isFindingName } from '../gates/finding.ts';
import type { KubeClient } from '../kube/client.ts';
import { note } from './output.ts';
import { nameRelease, sharePreflight } from './preflight-run.ts';
import { readClusterVersion } from './upgrade-request.ts';

interface AcceptWords {
  readonly to?: string;
  readonly reason?: string;
  readonly replace?: boolean;
  readonly clear?: boolean;
}

interface AcceptedRisk {
  name: string;
  reason?: string;
}

/**
 * The accepted risks after these words: `A` adds, `A-` takes back. Errors: Usage, where words contradict each other.
 */
export function acceptedAfter(
  before: readonly AcceptedRisk[],
  given: readonly string[],
  options: Pick<AcceptWords, 'reason' | 'replace' | 'clear'>,
): AcceptedRisk[] {
  const words = given.flatMap((word) => word.split(',')).filter((word) => word !== '');
  if (options.clear === true && words.length > 0) throw new SluiceError('Usage', '--clear takes no names');
  if (options.clear === true) return [];
  if (words.length === 0) throw new SluiceError('Usage', 'which risks? Give their names, or --clear');
  const removed = new Set(words.filter((word) => word.endsWith('-')).map((word) => word.slice(0, -1)));
  const added = words.filter((word) => !word.endsWith('-'));
  const both = added.find((name) => removed.has(name));
  if (both !== undefined) throw new SluiceError('Usage', `${both} is taken and taken back at once`);
  for (const name of [...added, ...removed]) {
    if (!isFindingName(name)) {
      throw new SluiceError('Usage', `"${name}" is no name of a risk`, {
        next: 'Names are printed in the column CHECK of the report: sluice preflight show.',
      });
    }
  }
  const kept = options.replace === true ? [] : before.filter((risk) => !removed.has(risk.name));
  const known = new Set(kept.map((risk) => risk.name));
  const fresh = [...new Set(added)].filter((name) => !known.has(name));
  const reason = options.reason === undefined ? {} : { reason: options.reason };
  return [...kept, ...fresh.map((name) => ({ name, ...reason }))];
}

/** Changes what is accepted for a release, in the UpdatePreflight that commands and updates share for it. */
export async function changeAccepted(
  client: KubeClient,
  given: readonly string[],
  options: AcceptWords,
): Promise<void> {
  const version = await readClusterVersion(client);
  const wish = version.spec.desiredUpdate;
  const words =
    options.to === undefined
      ? {
          ...(wish?.image === undefined ? {} : { image: wish.image }),
          ...(wish?.version === undefined ? {} : { to: wish.version }),
        }
      : { to: options.to };
  if (Object.keys(words).length === 0) {
    throw new SluiceError('Usage', 'for which release? Nothing is asked for at the moment', {
      next: 'Name it: sluice upgrade accept NAME --to VERSION.',
    });
  }
  const release = await nameRelease(client, words);
  const object = await sharePreflight(client, release);
  const before = object.spec.acceptedRisks ?? [];
  const acceptedRisks = acceptedAfter(before, given, options);
  const text = (risks: readonly AcceptedRisk[]) =>
    risks.length === 0 ? 'none' : risks.map((risk) => risk.name).join(', ');
  const shown = release.version ?? release.digest;
  if (text(before) === text(acceptedRisks)) {
    note(`not changed; accepted for ${shown}: ${text(before)}`);
    return;
  }
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const patch = { spec: { acceptedRisks: acceptedRisks.length === 0 ? null : acceptedRisks } };
  await client.patch(client.kinds.UpdatePreflight, object.metadata.name, patch, { namespace });
  note(`accepted for ${shown}: ${text(acceptedRisks)}`);
  note(
    'Accepting lets findings pass, and nothing else: what is not signed, not whole or not looked at still blocks.',
  );
}
