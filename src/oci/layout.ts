import type { Descriptor } from './manifest.ts';
import type { ContentSource } from './source.ts';

export interface Layout extends ContentSource {
  /** The manifest that a reference names; with '' the only one. Errors: NotFound. */
  resolve(reference: string): Promise<Descriptor>;
}

/** Reads an OCI image layout (image-spec, image-layout.md). Any repository name reads from the one layout. Errors: InputInvalid, NotFound. */
export declare function openLayout(directory: string): Promise<Layout>;

export interface LayoutWriter {
  /** Stores bytes. */
  blob(bytes: Uint8Array, mediaType: string): Promise<Descriptor>;
  /** Copies a file in. */
  blobFile(path: string, mediaType: string): Promise<Descriptor>;
  /** Stores a manifest from its value, or from exact bytes. */
  manifest(value: object | Uint8Array, mediaType: string): Promise<Descriptor>;
  /** Names a manifest in index.json; another that had the name loses it. */
  tag(reference: string, descriptor: Descriptor): Promise<void>;
}

export declare function createLayoutWriter(directory: string): Promise<LayoutWriter>;
