import type { HttpClient } from '../http/client.ts';
import type { ContentSource } from './source.ts';

export interface RegistryClientOptions {
  /** 'https://host:port', without a path. */
  readonly baseUrl: string;
  readonly http: HttpClient;
  /** Sent to this very host and port only. */
  readonly auth?: { readonly username: string; readonly password: string };
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads from a registry of distribution-spec 1.1. Redirects that leave its origin are not followed. */
export declare function createRegistryClient(options: RegistryClientOptions): ContentSource;
