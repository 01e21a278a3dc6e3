import { appendFileSync } from 'node:fs';
import { preload } from '../src/copy/preload.ts';
import { openMedia } from '../src/media/media.ts';
import type { ContentSource } from '../src/oci/source.ts';
import { loadTrustedKeys } from '../src/trust/keys.ts';

/** Bytes from which on a blob counts as one of a release: what describes it is smaller. */
export const largeBytes = 256 * 1024;

/**
 * Copies a release from media to a store as a node's `release preload` does, and notes every byte of a large blob that
 * it takes from the media: a line of the log for each read. Run as a program it can be killed anywhere.
 */
export async function copyScenario(of: {
  readonly media: string;
  readonly name: string;
  readonly store: string;
  /** A directory of `*.pub`. */
  readonly keys: string;
  readonly log: string;
}): Promise<void> {
  const media = await openMedia(of.media);
  try {
    const content = counting(media.content, (bytes) => appendFileSync(of.log, `${bytes}\n`));
    await preload(content, of.name, of.store, { keys: await loadTrustedKeys(of.keys) });
  } finally {
    await media.close();
  }
}

function counting(content: ContentSource, onBytes: (bytes: number) => void): ContentSource {
  return {
    ...content,
    async blob(repository, digest, options) {
      const reader = await content.blob(repository, digest, options);
      if (reader === undefined || reader.size < largeBytes) return reader;
      async function* counted() {
        for await (const chunk of reader?.stream ?? []) {
          onBytes(chunk.length);
          yield chunk;
        }
      }
      return { ...reader, stream: counted() };
    },
  };
}

const [, program, media = '', name = '', store = '', keys = '', log = ''] = process.argv;
if (program === import.meta.filename) await copyScenario({ media, name, store, keys, log });
