import type { ConnectOptions } from './connect.ts';

export interface ReleaseOptions extends ConnectOptions {
  readonly output?: string;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly dryRun?: boolean;
  readonly olm?: string;
  readonly defaultSourcesOff?: boolean;
  readonly apply?: boolean;
  readonly namespace?: string;
}
