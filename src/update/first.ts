import type { ClusterOperator, NodeUpdate } from '../api/resources.ts';
import { digestPart } from '../gates/gather.ts';
import type { Release } from '../gates/target.ts';

/** What the world shows of the release that runs, whatever the history says. */
export interface Signs {
  /** Versions that ClusterOperators report, each once. */
  readonly operatorVersions: readonly string[];
  /** Digests of the OS images that nodes have booted, each once. */
  readonly bootedDigests: readonly string[];
}

/** Reads the signs from objects at hand. Pure. */
export function signsOf(operators: readonly ClusterOperator[], nodes: readonly NodeUpdate[]): Signs {
  const versions = operators.flatMap(
    (operator) => operator.status?.versions?.find(({ name }) => name === 'operator')?.version ?? [],
  );
  const digests = nodes.flatMap(({ status }) =>
    status?.booted?.image === undefined ? [] : digestPart(status.booted.image),
  );
  return { operatorVersions: [...new Set(versions)].sort(), bootedDigests: [...new Set(digests)].sort() };
}

/**
 * Which release a cluster without any history begins with. On a new cluster that is the one it is installed with.
 * Where the history was lost (ClusterVersion deleted, etcd restored from before), it is the one that runs: nothing
 * may go back to an older release without a gate only because a record is gone. Undefined where the signs fit none.
 *
 * @param releases the initial one first, then what else is at hand.
 */
export function firstRelease(releases: readonly Release[], signs: Signs): Release | undefined {
  return releases.find(({ version, bundle }) => {
    const { os } = bundle.document;
    const isOperatorsOwn = signs.operatorVersions.every((reported) => reported === version);
    const isBooted = os === undefined || signs.bootedDigests.every((digest) => digest === os.digest);
    return isOperatorsOwn && isBooted;
  });
}

/** The signs in words, for the message that nothing is begun. */
export function describeSigns(signs: Signs): string {
  const operators = signs.operatorVersions.length === 0 ? 'none' : signs.operatorVersions.join(', ');
  const nodes = signs.bootedDigests.length === 0 ? 'none' : signs.bootedDigests.join(', ');
  return `operators report ${operators}, nodes have booted ${nodes}`;
}
