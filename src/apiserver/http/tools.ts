import type { Metrics } from '../../observe/metrics.ts';
import type { Authorizer } from '../policy/rbac.ts';
import type { TokenIssuer } from '../policy/token.ts';
import type { KubeletClient } from './log.ts';

/** What requests are answered with, beside the engine. */
export interface Tools {
  readonly authorizer: Authorizer;
  readonly tokens: TokenIssuer | undefined;
  /** Audiences of a token that is asked for without any. */
  readonly audiences: readonly string[];
  /** A bearer token of the process itself, with all rights. */
  readonly loopbackToken: string | undefined;
  readonly kubelets: KubeletClient;
  /** What `/metrics` shows; undefined where the server counts nothing. */
  readonly metrics: Metrics | undefined;
}
