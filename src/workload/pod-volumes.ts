import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigMap, Pod, Secret } from '../api/core.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Runner } from './runner.ts';
import { writeVolume } from './volume-files.ts';
import { references, volumeFiles, withServiceAccount } from './volumes.ts';

/** A token is renewed when this part of its life is over (kubernetes, pkg/kubelet/token). */
const renewAfter = 0.8;
const tokenSecondsDefault = 3600;

/** The ConfigMaps and Secrets that a Pod refers to, as they are now. */
export interface PodObjects {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

export interface PodVolumes {
  /** The Pod with the volume of its ServiceAccount, where it is to have one. */
  complete(pod: Pod): Promise<Pod>;
  objects(pod: Pod): Promise<PodObjects>;
  /**
   * Writes the files of all volumes of a completed Pod as they should be now. Resolves to the names of those that
   * changed. Errors: ConfigError, ApiError.
   */
  write(pod: Pod, objects: PodObjects): Promise<string[]>;
  /** When the first token of a Pod wants renewal, Unix milliseconds. */
  renewAt(pod: Pod): number | undefined;
  directory(podUid: string, volume: string): string;
  forget(podUid: string): Promise<void>;
}

export interface PodVolumesOptions {
  /** Holds a directory for each Pod. */
  readonly dir: string;
  readonly client: Pick<KubeClient, 'kinds' | 'tryGet' | 'createToken'>;
  readonly runner: Pick<Runner, 'refreshVolume'>;
  readonly nodeAddress: string;
  readonly clock: Clock;
}

interface Token {
  readonly token: string;
  readonly renewAt: number;
}

export function createPodVolumes(options: PodVolumesOptions): PodVolumes {
  const { client, clock, dir } = options;
  const tokens = new Map<string, Map<string, Token>>();
  const directory = (podUid: string, volume: string) => join(dir, podUid, 'volumes', volume);

  async function token(pod: Pod, audience: string | undefined, seconds: number | undefined): Promise<string> {
    const uid = pod.metadata.uid ?? '';
    const ofPod = tokens.get(uid) ?? new Map<string, Token>();
    tokens.set(uid, ofPod);
    const key = `${audience ?? ''} ${seconds ?? ''}`;
    const standing = ofPod.get(key);
    const now = clock.now();
    if (standing !== undefined && now < standing.renewAt) return standing.token;
    const answer = await client.createToken(
      pod.metadata.namespace ?? '',
      pod.spec.serviceAccountName ?? 'default',
      {
        ...(audience === undefined || audience === '' ? {} : { audiences: [audience] }),
        expirationSeconds: seconds ?? tokenSecondsDefault,
        boundObject: { kind: 'Pod', apiVersion: 'v1', name: pod.metadata.name, uid },
      },
    );
    const life = Date.parse(answer.expirationTimestamp) - now;
    ofPod.set(key, { token: answer.token, renewAt: now + Math.max(0, life * renewAfter) });
    return answer.token;
  }

  /** Asks for every token that the volumes name, so that the files can be made without waiting. */
  async function tokensOf(pod: Pod): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const volume of pod.spec.volumes ?? []) {
      for (const { serviceAccountToken } of volume.projected?.sources ?? []) {
        if (serviceAccountToken === undefined) continue;
        const { audience, expirationSeconds } = serviceAccountToken;
        found.set(`${audience} ${expirationSeconds}`, await token(pod, audience, expirationSeconds));
      }
    }
    return found;
  }

  /** Made once in a Pod's life: a runner may have moved them into a container meanwhile. */
  async function makeShared(pod: Pod): Promise<void> {
    const home = join(dir, pod.metadata.uid ?? '');
    if (await stat(join(home, 'volumes')).catch(() => undefined)) return;
    const fresh = join(home, 'volumes.new');
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true, mode: 0o755 });
    for (const volume of pod.spec.volumes ?? []) {
      if (volume.emptyDir === undefined) continue;
      await mkdir(join(fresh, volume.name));
      await chmod(join(fresh, volume.name), 0o777);
    }
    await rename(fresh, join(home, 'volumes'));
  }

  return {
    async complete(pod) {
      if (pod.spec.automountServiceAccountToken === false) return pod;
      const name = pod.spec.serviceAccountName ?? 'default';
      const account = await client.tryGet(client.kinds.ServiceAccount, name, pod.metadata.namespace ?? '');
      return withServiceAccount(pod, account?.automountServiceAccountToken ?? true);
    },
    async objects(pod) {
      const namespace = pod.metadata.namespace ?? '';
      const named = references(pod);
      const configMaps = new Map<string, ConfigMap | undefined>();
      const secrets = new Map<string, Secret | undefined>();
      for (const name of named.configMaps) {
        configMaps.set(name, await client.tryGet(client.kinds.ConfigMap, name, namespace));
      }
      for (const name of named.secrets) {
        secrets.set(name, await client.tryGet(client.kinds.Secret, name, namespace));
      }
      return { configMap: (name) => configMaps.get(name), secret: (name) => secrets.get(name) };
    },
    async write(pod, objects) {
      await makeShared(pod);
      const made = await tokensOf(pod);
      const changed: string[] = [];
      for (const volume of pod.spec.volumes ?? []) {
        const files = volumeFiles(pod, volume, {
          ...objects,
          token: (audience, seconds) => made.get(`${audience} ${seconds}`) ?? '',
          nodeAddress: options.nodeAddress,
        });
        if (files === undefined) continue;
        const uid = pod.metadata.uid ?? '';
        if (!(await writeVolume(directory(uid, volume.name), files))) continue;
        changed.push(volume.name);
        await options.runner.refreshVolume(uid, volume.name);
      }
      return changed;
    },
    renewAt(pod) {
      const times = [...(tokens.get(pod.metadata.uid ?? '')?.values() ?? [])].map(({ renewAt }) => renewAt);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    directory,
    async forget(podUid) {
      tokens.delete(podUid);
      if (podUid === '' || podUid.includes('/')) return;
      await rm(join(dir, podUid), { recursive: true, force: true });
    },
  };
}
