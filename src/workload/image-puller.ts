import type { Container, Pod } from '../api/core.ts';
import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import { stillWaits } from '../kube/backoff.ts';
import type { Clock } from '../observe/clock.ts';
import type { Digest } from '../oci/digest.ts';
import { controlPlaneHosts, resolveImage } from './images.ts';
import type { ImageState } from './pod-decision.ts';
import type { ImageInfo, ImageLocation, RegistryTrust, Runner } from './runner.ts';

/** kubernetes, pkg/kubelet: `MaxContainerBackOff` and its beginning, for pulls. */
const backoffFirstMs = 10_000;
const backoffMostMs = 300_000;
/** A registry that answers only late must not keep the others from being asked. */
const locationTimeoutMs = 30 * 60_000;

export interface ImagePullerOptions {
  readonly runner: Pick<Runner, 'image' | 'pull'>;
  readonly mirrorSets: () => readonly ImageDigestMirrorSet[];
  /** `host:port` of this node's own registry. */
  readonly ownHost: string;
  /** `host:port` that stands for the registries of all control-plane nodes. */
  readonly commonHost: string;
  /** Of the control plane's registries; others are asked without the password. */
  readonly trust: () => RegistryTrust;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A pull for this Pod has ended. */
  readonly onChange: (pod: Pod) => void;
  readonly event: (pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

interface Wanted {
  readonly image: string;
  state: ImageState;
  failures: number;
}

/** Brings images to the node: one pull of a digest at a time, back-off per container, every mirror asked. */
export interface ImagePuller {
  /** How the image of a container stands; begins a pull where one is due. Never waits for it. */
  ensure(pod: Pod, container: Container): Promise<ImageState>;
  states(pod: Pod): ReadonlyMap<string, ImageState>;
  forget(podUid: string): void;
}

export function createImagePuller(options: ImagePullerOptions): ImagePuller {
  const { runner, clock, event } = options;
  const wanted = new Map<string, Map<string, Wanted>>();
  const pulls = new Map<Digest, Promise<ImageInfo>>();

  function entry(pod: Pod, container: Container): Wanted {
    const uid = pod.metadata.uid ?? '';
    const ofPod = wanted.get(uid) ?? new Map<string, Wanted>();
    wanted.set(uid, ofPod);
    const standing = ofPod.get(container.name);
    if (standing !== undefined && standing.image === (container.image ?? '')) return standing;
    const fresh: Wanted = { image: container.image ?? '', state: { state: 'pulling' }, failures: -1 };
    ofPod.set(container.name, fresh);
    return fresh;
  }

  async function ensure(pod: Pod, container: Container): Promise<ImageState> {
    const one = entry(pod, container);
    const first = one.failures < 0;
    if (one.state.state === 'present') return one.state;
    if (one.state.state === 'pulling' && !first) return one.state;
    if (one.state.state === 'failed' && stillWaits(one.state.retryAt, clock.now(), backoffMostMs)) {
      return one.state;
    }
    one.failures = Math.max(0, one.failures);

    const resolved = resolveImage(one.image, options.mirrorSets(), options.ownHost);
    if ('refused' in resolved) return refuse(pod, one, resolved.refused, resolved.message);
    const present = await runner.image(resolved.digest);
    if (present !== undefined) {
      event(pod, 'Normal', 'Pulled', `Container image "${one.image}" already present on machine`);
      one.state = { state: 'present', info: present };
      return one.state;
    }
    if (container.imagePullPolicy === 'Never') {
      const message = `Container image "${one.image}" is not present with pull policy of Never`;
      return refuse(pod, one, 'ErrImageNeverPull', message);
    }
    event(pod, 'Normal', 'Pulling', `Pulling image "${one.image}"`);
    one.state = { state: 'pulling' };
    const begun = clock.monotonic();
    void pull(one.image, resolved.digest, resolved.locations).then(
      (info) => {
        one.state = { state: 'present', info };
        one.failures = 0;
        const took = ((clock.monotonic() - begun) / 1000).toFixed(3);
        event(pod, 'Normal', 'Pulled', `Successfully pulled image "${one.image}" in ${took}s`);
        options.onChange(pod);
      },
      (error: unknown) => {
        fail(one, 'ErrImagePull', messageOf(error));
        event(pod, 'Warning', 'Failed', `Failed to pull image "${one.image}": ${messageOf(error)}`);
        event(pod, 'Warning', 'Failed', 'Error: ErrImagePull');
        options.onChange(pod);
      },
    );
    return one.state;
  }

  function refuse(
    pod: Pod,
    one: Wanted,
    reason: 'InvalidImageName' | 'ErrImageNeverPull',
    message: string,
  ): ImageState {
    const known = one.state.state === 'failed' && one.state.message === message;
    if (!known) {
      event(pod, 'Warning', reason === 'InvalidImageName' ? 'InspectFailed' : reason, message);
      event(pod, 'Warning', 'Failed', `Error: ${reason}`);
    }
    return fail(one, reason, message);
  }

  function fail(
    one: Wanted,
    reason: 'ErrImagePull' | 'InvalidImageName' | 'ErrImageNeverPull',
    message: string,
  ) {
    const now = clock.now();
    const wait = Math.min(backoffMostMs, backoffFirstMs * 2 ** one.failures);
    one.failures += 1;
    one.state = { state: 'failed', reason, message, failedAt: now, retryAt: now + wait };
    return one.state;
  }

  function pull(image: string, digest: Digest, locations: readonly ImageLocation[]): Promise<ImageInfo> {
    const standing = pulls.get(digest);
    if (standing !== undefined) return standing;
    const begun = tryAll(image, locations).finally(() => pulls.delete(digest));
    pulls.set(digest, begun);
    return begun;
  }

  async function tryAll(image: string, locations: readonly ImageLocation[]): Promise<ImageInfo> {
    const said: string[] = [];
    const ours = controlPlaneHosts(options.mirrorSets(), options.ownHost, options.commonHost);
    for (const location of locations) {
      const signal = AbortSignal.any([options.signal, AbortSignal.timeout(locationTimeoutMs)]);
      try {
        const { auth, ...others } = options.trust();
        const knows = auth !== undefined && ours.has(location.host);
        return await runner.pull(location, knows ? { ...others, auth } : others, signal);
      } catch (error) {
        said.push(`${location.host}: ${messageOf(error)}`);
      }
    }
    throw new Error(
      said.length === 0
        ? `no mirror is configured for "${image}", and its own registry may not be asked`
        : `failed to pull image "${image}": ${said.join('; ')}`,
    );
  }

  return {
    ensure,
    states: (pod) =>
      new Map([...(wanted.get(pod.metadata.uid ?? '') ?? [])].map(([name, { state }]) => [name, state])),
    forget: (podUid) => void wanted.delete(podUid),
  };
}
