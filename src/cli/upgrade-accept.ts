import { names } from '../api/names.ts';
import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { wayThrough } from '../gates/finding.ts';
import type { KubeClient } from '../kube/client.ts';
import { type AcceptedRisk, acceptedAfter, nameRelease, sharePreflight } from '../preflight/request.ts';
import { readRefusal } from '../update/refusal.ts';
import { note } from './output.ts';
import { standingRefusal } from './upgrade-refusal.ts';
import { readClusterVersion } from './upgrade-request.ts';

interface AcceptWords {
  readonly to?: string;
  readonly reason?: string;
  readonly replace?: boolean;
  readonly clear?: boolean;
}

/** Findings that the standing request is refused by: some of them are in no report. */
function findingNames(version: ClusterVersion): string[] {
  const refusal = standingRefusal(version);
  return (readRefusal(refusal?.message ?? '') ?? []).map((finding) => finding.name);
}

/**
 * What is worth saying of names that are taken: one that nothing has, or that nothing can pass, does nothing. Names may
 * be taken before they are found, so that is no error. Pure.
 *
 * @param refused names of findings that the standing request is refused by.
 */
export function acceptanceWarnings(
  names: readonly string[],
  report: Pick<UpdatePreflight, 'status'>,
  refused: readonly string[],
  shown: string,
): string[] {
  const checks = report.status?.checks ?? [];
  const isLooked = report.status?.finishedAt !== undefined || refused.length > 0;
  const found = new Set([
    ...checks
      .filter((row) => row.result === 'Risk' && (row.severity ?? 'blocking') === 'blocking')
      .map((row) => row.name),
    ...refused,
  ]);
  return names.flatMap((name) => {
    const way = wayThrough({ name });
    if (way === 'none')
      return [`warning: ${name} cannot be accepted: content that is not trusted or not whole never passes`];
    if (way === 'force')
      return [`warning: ${name} cannot be accepted: only --force goes through it, and the history says so`];
    const errors = checks.filter((row) => row.name === name && row.result === 'Error');
    if (errors.length > 0 && !checks.some((row) => row.name === name && row.result === 'Risk')) {
      return [
        `warning: ${name} could not be looked at, and a name accepts only what was found: mend it, or --force`,
      ];
    }
    if (found.has(name)) return [];
    if (!isLooked)
      return [`warning: ${shown} was not looked at yet, so nobody knows whether it has a risk ${name}`];
    const known = [...found].sort();
    const near = known.find((each) => each.toLowerCase() === name.toLowerCase());
    const hint = near === undefined ? `found: ${known.join(', ') || 'none'}` : `did you mean ${near}?`;
    return [`warning: nothing that was found for ${shown} is named ${name}; ${hint}`];
  });
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
  const fresh = acceptedRisks
    .map((risk) => risk.name)
    .filter((name) => !before.some((risk) => risk.name === name));
  for (const warning of acceptanceWarnings(fresh, object, findingNames(version), shown)) note(warning);
  if (text(before) === text(acceptedRisks)) {
    note(`not changed; accepted for ${shown}: ${text(before)}`);
    return;
  }
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const patch = { spec: { acceptedRisks: acceptedRisks.length === 0 ? null : acceptedRisks } };
  await client.patch(client.kinds.UpdatePreflight, object.metadata.name, patch, { namespace });
  note(`accepted for ${shown}: ${text(acceptedRisks)}`);
  if (fresh.length > 0) {
    const names = fresh.map((name) => `${name}-`).join(' ');
    const to = options.to === undefined ? '' : ` --to ${options.to}`;
    note(`  to take it back: sluice upgrade accept ${names}${to}`);
  }
  note(
    'Accepting lets findings pass, and nothing else: what is not signed, not whole or not looked at still blocks.',
  );
}
