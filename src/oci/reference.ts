import { SluiceError } from '../errors/error.ts';
import { type Digest, parseDigest } from './digest.ts';

/** Where an image stands. `host` may carry a port ('quay.io', 'localhost:5000', '[::1]:22625'). */
export interface ImageReference {
  readonly host: string;
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: Digest;
}

const nameForm = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagForm = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const hostForm = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;
const repositoryLengthMax = 255;

/** distribution-spec, "Pulling manifests": `<name>`. */
export function isRepositoryName(name: string): boolean {
  return name.length <= repositoryLengthMax && nameForm.test(name);
}

/** distribution-spec, "Pulling manifests": `<reference>` as a tag. */
export function isTag(tag: string): boolean {
  return tagForm.test(tag);
}

/**
 * Reads `host[:port]/repository[:tag][@digest]`. The host must be written: there is no default registry.
 * Errors: InputInvalid, DigestInvalid.
 */
export function parseReference(text: string): ImageReference {
  const [named = '', digest, extra] = text.split('@');
  if (extra !== undefined) throw invalid(text, 'it has two digests');
  const slash = named.indexOf('/');
  const host = named.slice(0, slash);
  if (slash <= 0 || !hostForm.test(host) || !isHost(host)) {
    throw invalid(text, 'it does not start with the name of a registry');
  }
  const rest = named.slice(slash + 1);
  const colon = rest.lastIndexOf(':');
  const repository = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? undefined : rest.slice(colon + 1);
  if (!isRepositoryName(repository)) throw invalid(text, `"${repository}" is not the name of a repository`);
  if (tag !== undefined && !isTag(tag)) throw invalid(text, `"${tag}" is not a tag`);
  return {
    host,
    repository,
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest: parseDigest(digest) }),
  };
}

/** The text that `parseReference` reads. */
export function formatReference(reference: ImageReference): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`;
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`;
  return `${reference.host}/${reference.repository}${tag}${digest}`;
}

/** A first component is a registry where it cannot be a path: a dot, a port, brackets, or localhost. */
function isHost(text: string): boolean {
  if (!/[.:[]/.test(text) && text !== 'localhost') return false;
  const port = /:(\d+)$/.exec(text.replace(/^\[[^\]]*\]/, ''))?.[1];
  return port === undefined || Number(port) <= 65_535;
}

function invalid(text: string, why: string): SluiceError {
  return new SluiceError('InputInvalid', `"${text.slice(0, 200)}" is not an image reference: ${why}`, {
    next: 'Write it as registry.example:5000/path/name:tag or …/name@sha256:<digest>.',
  });
}
