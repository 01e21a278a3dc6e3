import type { RegistryAccess } from '../build/registry-source.ts';

/** Options of the commands that read from registries. */
export interface RegistryOptions {
  authfile?: string;
  ca?: string;
  registriesConf?: string;
  insecureRegistry?: string[];
}

/** How registries are reached, from the words of a command. */
export function registryAccess(options: RegistryOptions): RegistryAccess {
  return {
    env: process.env,
    ...(options.authfile === undefined ? {} : { authFile: options.authfile }),
    ...(options.ca === undefined ? {} : { caFile: options.ca }),
    ...(options.registriesConf === undefined ? {} : { registriesConf: options.registriesConf }),
    insecure: options.insecureRegistry ?? [],
  };
}
