import { names } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { type AcceptedRisk, acceptedAfter, nameRelease, sharePreflight } from '../preflight/request.ts';
import { note } from './output.ts';

import { readClusterVersion } from './upgrade-request.ts';

interface AcceptWords {
  readonly to?: string;
  readonly reason?: string;
  readonly replace?: boolean;
  readonly clear?: boolean;
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
