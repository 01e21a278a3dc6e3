import { join } from 'node:path';
import { buildImage, type ImageFile, type ImageRunConfig } from '../src/build/image.ts';

const config: ImageRunConfig = { env: ['PATH=/bin:/usr/bin'] };

/** Makes the image that hands the manifests of a release to its checks. @returns its source. */
export async function buildBase(dir: string, files: readonly ImageFile[]): Promise<string> {
  const directory = join(dir, 'base');
  await buildImage({ out: { directory, reference: 'base' }, files, directoryMode: 0o755 });
  return `oci:${directory}:base`;
}

/** The image of a check: its tools, and its script as the `/usr/bin/check` that `checkManifest` runs. */
export function checkImage(
  tools: readonly ImageFile[],
  script: string,
): { files: ImageFile[]; config: ImageRunConfig } {
  return { files: [...tools, { path: '/usr/bin/check', mode: 0o755, data: script }], config };
}
