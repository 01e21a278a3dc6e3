import { names } from '../api/names.ts';
import type { InternalReleaseImage } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict } from '../kube/error.ts';

/**
 * On InternalReleaseImage, since its schema is upstream's: names of releases, with commas between, that no node
 * copies on with for now. Kept through restarts of everything.
 */
const pausedAnnotation = 'sluice.dev/paused-releases';
const attemptsMax = 5;

/** Releases whose copies a person has paused. */
export function pausedReleases(object: InternalReleaseImage | undefined): ReadonlySet<string> {
  const text = object?.metadata.annotations?.[pausedAnnotation] ?? '';
  return new Set(text.split(',').filter((name) => name !== ''));
}

/** Pauses or resumes the copies of a release, on every node. Answers whether that was news. Errors: NotFound. */
export async function setPaused(client: KubeClient, name: string, paused: boolean): Promise<boolean> {
  const { InternalReleaseImage } = client.kinds;
  const { internalReleaseImage } = names(client.platform);
  for (let attempt = 1; ; attempt += 1) {
    const object = await client.tryGet(InternalReleaseImage, internalReleaseImage);
    if (object?.spec.releases.some((each) => each.name === name) !== true) {
      throw new SluiceError('NotFound', `${name} is not asked for, so nothing of it is copied`);
    }
    const wanted = new Set(pausedReleases(object));
    if (wanted.has(name) === paused) return false;
    if (paused) wanted.add(name);
    else wanted.delete(name);
    // Names that are not asked for any more have nothing to pause.
    const asked = object.spec.releases.map((each) => each.name);
    const text = [...wanted]
      .filter((each) => asked.includes(each))
      .sort()
      .join(',');
    const { resourceVersion } = object.metadata;
    const annotations = { [pausedAnnotation]: text === '' ? null : text } as unknown as Record<
      string,
      string
    >;
    try {
      await client.patch(InternalReleaseImage, internalReleaseImage, {
        metadata: { resourceVersion, annotations },
      });
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt >= attemptsMax) throw error;
    }
  }
}
