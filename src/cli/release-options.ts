import type { ConnectOptions } from './connect.ts';

export interface ReleaseOptions extends ConnectOptions {
  readonly output?: string;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly dryRun?: boolean;
  readonly olm?: 'v0' | 'v1';
  readonly defaultSourcesOff?: boolean;
  readonly apply?: boolean;
  readonly namespace?: string;
}
