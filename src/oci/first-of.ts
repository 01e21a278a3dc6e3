import { isSluiceError, SluiceError } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import { type Digest, isDigest } from './digest.ts';
import type { Descriptor } from './manifest.ts';
import type { Endpoint } from './registries-conf.ts';
import type { ContentSource } from './source.ts';

export interface OpenEndpoint {
  readonly endpoint: Endpoint;
  readonly content: ContentSource;
}

/** How long a place that did not answer is left out. */
const deadMs = 60_000;

/**
 * Several places of one image, the first that has it answers. Only "it is not here" counts as absent, and of the
 * place that gave the image it counts alone; a place that failed is passed over, and told of where none answers.
 * The repository that is asked for is any name: each place has its own.
 */
export function firstOf(
  label: string,
  places: readonly OpenEndpoint[],
  clock: Pick<Clock, 'now'>,
): ContentSource {
  const deadUntil = new Map<OpenEndpoint, number>();
  let home: OpenEndpoint | undefined;

  async function ask<T>(
    kind: 'digest' | 'tag',
    act: (place: OpenEndpoint) => Promise<T | undefined>,
    isAbsent: (answer: T) => boolean = () => false,
  ): Promise<T | undefined> {
    const errors: unknown[] = [];
    let homeSaysNo = false;
    const wanted = places.filter(({ endpoint: { pulls } }) => pulls === 'all' || pulls === `${kind}-only`);
    // The place that gave the image is always asked: where it does not answer, the "no" of others is none.
    const alive = wanted.filter((place) => place === home || (deadUntil.get(place) ?? 0) <= clock.now());
    for (const place of inOrder(alive.length === 0 ? wanted : alive, home)) {
      try {
        const answer = await act(place);
        if (answer !== undefined && !isAbsent(answer)) {
          home ??= place;
          return answer;
        }
        homeSaysNo ||= home === undefined ? place === wanted.at(-1) : place === home;
      } catch (error) {
        if (isSluiceError(error, 'Unreachable', 'Stalled')) deadUntil.set(place, clock.now() + deadMs);
        else if (!isSluiceError(error, 'Unauthorized', 'Forbidden')) throw error;
        errors.push(error);
      }
    }
    if (errors.length === 0 || homeSaysNo) return undefined;
    if (errors.length === 1) throw errors[0];
    const all = errors.map((each) => (each as Error).message).join('; ');
    throw new SluiceError('Unreachable', `${label} was found nowhere: ${all}`, {
      cause: errors[0],
      next: 'Let one of these places answer (its name, the network, a proxy), or name others in registries.conf.',
    });
  }

  return {
    label,
    manifest: (_, reference) =>
      ask(isByDigest(reference) ? 'digest' : 'tag', ({ endpoint, content }) =>
        content.manifest(endpoint.repository, reference),
      ),
    blob: (_, digest, options) =>
      ask('digest', ({ endpoint, content }) => content.blob(endpoint.repository, digest, options)),
    async tags() {
      return (await ask('tag', ({ endpoint, content }) => content.tags(endpoint.repository))) ?? [];
    },
    async referrers(_: string, digest: Digest): Promise<Descriptor[]> {
      const isNone = (found: Descriptor[]) => found.length === 0;
      return (
        (await ask(
          'digest',
          ({ endpoint, content }) => content.referrers(endpoint.repository, digest),
          isNone,
        )) ?? []
      );
    },
  };
}

/** The tags of signatures are made of a digest: a mirror for digests has them as well. */
function isByDigest(reference: string): boolean {
  return isDigest(reference) || /^sha256-[0-9a-f]{64}(?:\.|$)/.test(reference);
}

function inOrder(places: readonly OpenEndpoint[], home: OpenEndpoint | undefined): OpenEndpoint[] {
  return home === undefined || !places.includes(home)
    ? [...places]
    : [home, ...places.filter((each) => each !== home)];
}
