import { randomUUID } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { diskError } from '../store/place.ts';
import type { Store } from '../store/store.ts';

/** Uploads under way (distribution-spec, "Pushing blobs"): each is one file, finished by its digest. */
export interface Uploads {
  begin(repository: string): Promise<string>;
  /** Bytes that have come; undefined where there is no such upload in the repository. */
  offset(repository: string, id: string): number | undefined;
  /**
   * Appends a body. One at a time per upload. What came of a body that broke off is dropped again.
   * @param expected the bytes that the client says it sends. Errors: InputInvalid where it sends others; DiskFull.
   */
  append(id: string, body: AsyncIterable<Uint8Array>, expected: number | undefined): Promise<number>;
  /** Makes the upload a blob of its repository. Errors: DigestMismatch; the upload is gone then. */
  finish(id: string, digest: Digest): Promise<void>;
  cancel(id: string): Promise<void>;
}

interface Upload {
  readonly repository: string;
  readonly path: string;
  offset: number;
  busy: boolean;
}

/** More than any pusher uses; beyond it the oldest is given up. */
const uploadsMax = 256;

/** @param store owns the place: what a crash leaves there is purged with its other temporary files. */
export function createUploads(store: Store): Uploads {
  const uploads = new Map<string, Upload>();
  const directory = join(store.root, 'sluice', 'scratch');

  function claim(id: string): Upload {
    const upload = uploads.get(id);
    if (upload === undefined) throw new SluiceError('NotFound', `there is no upload ${id}`);
    if (upload.busy) throw new SluiceError('Conflict', `the upload ${id} is being written to`);
    upload.busy = true;
    return upload;
  }

  async function drop(id: string): Promise<void> {
    const upload = uploads.get(id);
    uploads.delete(id);
    if (upload !== undefined) await rm(upload.path, { force: true });
  }

  return {
    async begin(repository) {
      const [oldest] = uploads.keys();
      if (uploads.size >= uploadsMax && oldest !== undefined) await drop(oldest);
      const id = randomUUID();
      await mkdir(directory, { recursive: true });
      const path = join(directory, `upload-${id}`);
      await (await open(path, 'wx')).close();
      uploads.set(id, { repository, path, offset: 0, busy: false });
      return id;
    },

    offset(repository, id) {
      const upload = uploads.get(id);
      return upload?.repository === repository ? upload.offset : undefined;
    },

    async append(id, body, expected) {
      const upload = claim(id);
      const handle = await open(upload.path, 'r+');
      let at = upload.offset;
      try {
        for await (const chunk of body) {
          if (expected !== undefined && at + chunk.length > upload.offset + expected) {
            throw new SluiceError('InputInvalid', 'the body is longer than its Content-Range says');
          }
          for (let done = 0; done < chunk.length; ) {
            done += (await handle.write(chunk, done, chunk.length - done, at + done)).bytesWritten;
          }
          at += chunk.length;
        }
        if (expected !== undefined && at !== upload.offset + expected) {
          throw new SluiceError('InputInvalid', 'the body is shorter than its Content-Range says');
        }
        upload.offset = at;
        return at;
      } catch (error) {
        await handle.truncate(upload.offset).catch(() => {});
        throw diskError(error, upload.path);
      } finally {
        await handle.close();
        upload.busy = false;
      }
    },

    async finish(id, digest) {
      const upload = claim(id);
      try {
        await store.adopt(upload.path, digest);
        await store.linkLayer(upload.repository, digest);
      } finally {
        await drop(id);
      }
    },

    cancel: drop,
  };
}
