import { join } from 'node:path';

/** The nodes of the n-th cluster on this machine: addresses of a /24 of their own in the loopback network. */
export interface NodePlan {
  readonly name: string;
  readonly address: string;
  readonly dir: string;
  readonly run: string;
  readonly store: string;
  readonly marker: string;
  readonly os: string;
  readonly config: string;
  /** Images and containers of this node alone. */
  readonly containers: string;
}

/** Everything below the directory of `sluice up`; nothing of it lies elsewhere. */
export interface UpLayout {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly state: string;
  /** Held by the one process that works in this directory. */
  readonly claim: string;
  /** What the cluster was installed with (install.ts). */
  readonly installed: string;
  /** There from the beginning of a first start until its release was applied (first-start.ts). */
  readonly firstStart: string;
  readonly pki: string;
  readonly caFile: string;
  /** Registry credentials in the form of podman's and skopeo's `--authfile`. */
  readonly authFile: string;
  readonly trustedKeys: string;
  readonly api: string;
  /** The web console: where it is asked for links, and the key of its sessions. */
  readonly consoleSocket: string;
  readonly consoleKey: string;
  /** What nodes show to the fleet lock: whatever runs on this machine reaches it, containers as root among it. */
  readonly lockSecret: string;
  logFile(child: string): string;
  identity(name: string): { readonly cert: string; readonly key: string; readonly kubeconfig: string };
  nodes(count: number, network: number): readonly NodePlan[];
}

/** The first /24 of `sluice up`; a second instance takes the next free one (design, Addresses). */
export const firstNetwork = 62;

export function upLayout(dir: string): UpLayout {
  const pki = join(dir, 'pki');
  return {
    dir,
    kubeconfig: join(dir, 'kubeconfig'),
    state: join(dir, 'state.json'),
    claim: join(dir, 'claim'),
    installed: join(dir, 'installed.json'),
    firstStart: join(dir, 'first-start'),
    pki,
    caFile: join(pki, 'ca.crt'),
    authFile: join(dir, 'auth.json'),
    trustedKeys: join(dir, 'trusted-keys'),
    api: join(dir, 'api'),
    consoleSocket: join(dir, 'console.sock'),
    consoleKey: join(dir, 'console.key'),
    lockSecret: join(dir, 'lock-secret'),
    logFile: (child) => join(dir, 'logs', `${child}.log`),
    identity: (name) => ({
      cert: join(pki, `${name}.crt`),
      key: join(pki, `${name}.key`),
      kubeconfig: join(pki, `${name}.kubeconfig`),
    }),
    nodes: (count, network) =>
      Array.from({ length: count }, (_, index) => {
        const name = `master-${index}`;
        const base = join(dir, 'nodes', name);
        return {
          name,
          address: `127.22.${network}.${11 + index}`,
          dir: base,
          run: join(base, 'run'),
          store: join(base, 'store'),
          marker: join(base, 'marker'),
          os: join(base, 'os'),
          config: join(base, 'config.d'),
          containers: join(base, 'containers'),
        };
      }),
  };
}
