import { rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { equalJson, type JsonRecord, type KubeObject, list, record } from './object.ts';
import { deleteObject } from './rest/delete.ts';
import type { Engine, WriteContext } from './rest/engine.ts';
import { readObjects } from './rest/read.ts';
import { crdFinalizer } from './rest/strategy.ts';
import { updateObject } from './rest/write.ts';
import type { Served } from './served.ts';

/** The server itself writes with all rights. */
export const serverContext = (): WriteContext => ({
  user: { username: 'system:apiserver', groups: ['system:masters'] },
  dryRun: false,
  fieldValidation: 'Ignore',
  warnings: [],
});

/**
 * Serves what CustomResourceDefinitions say: accepts their names, marks them Established and serves them in the
 * same turn of the event loop in which the definition was committed; ends the objects of one that is deleted.
 */
export class Definitions {
  readonly #engine: Engine;
  readonly #definitions: Served;
  readonly #logger: Logger;
  #working: Promise<void> = Promise.resolve();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#logger = engine.logger.child({ part: 'definitions' });
    this.#definitions = engine.resources.builtIn('apiextensions.k8s.io/v1', 'customresourcedefinitions');
    engine.store.onCommit((changes) => {
      if (changes.some((change) => change.key.startsWith(`${this.#definitions.storage}/`))) this.#changed();
    });
  }

  /** Serves what is established, and works off what is not; resolves when nothing is left to do. */
  async start(): Promise<void> {
    this.#changed();
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.#working;
  }

  #changed(): void {
    this.#serve();
    this.#working = this.#working
      .then(() => this.#work())
      .catch((error: unknown) =>
        this.#logger.error({ error: String(error) }, 'a definition could not be worked off'),
      );
  }

  #serve(): void {
    const all = readObjects(this.#engine, this.#definitions, '');
    this.#engine.resources.setDefinitions(all.filter(isEstablished));
  }

  async #work(): Promise<void> {
    for (const definition of readObjects(this.#engine, this.#definitions, '')) {
      if (definition.metadata.deletionTimestamp !== undefined) await this.#end(definition);
      else await this.#accept(definition);
    }
  }

  async #accept(definition: KubeObject): Promise<void> {
    const status = this.#acceptedStatus(definition);
    if (equalJson(status, definition.status)) return;
    await this.#update(definition, 'status', (current) => ({ ...current, status }));
  }

  #acceptedStatus(definition: KubeObject): JsonRecord {
    const { names, group } = record(definition.spec);
    const now = rfc3339(this.#engine.clock.now());
    const old = list(record(definition.status).conditions).map(record);
    const taken = this.#nameConflict(definition);
    const condition = (type: string, good: boolean, reason: string, message: string): JsonRecord => {
      const wanted = good ? 'True' : 'False';
      const before = old.find((entry) => entry.type === type);
      const since = before?.status === wanted ? before.lastTransitionTime : now;
      return { type, status: wanted, lastTransitionTime: since, reason, message };
    };
    const accepted = taken === undefined;
    const versions = list(record(definition.spec).versions).map(record);
    const stored = versions.find((version) => version.storage === true)?.name;
    const storedVersions = [...new Set([...list(record(definition.status).storedVersions), stored])];
    return {
      acceptedNames: accepted ? names : { plural: '', kind: '' },
      conditions: [
        condition(
          'NamesAccepted',
          accepted,
          accepted ? 'NoConflicts' : 'Conflict',
          taken ?? 'no conflicts found',
        ),
        condition(
          'Established',
          accepted,
          accepted ? 'InitialNamesAccepted' : 'NotAccepted',
          accepted ? 'the initial names have been accepted' : `not all names of ${group} are accepted`,
        ),
      ],
      storedVersions: storedVersions.filter((version) => version !== undefined),
    };
  }

  /** Another definition of the same group that was there first and has one of the names. */
  #nameConflict(definition: KubeObject): string | undefined {
    const { group, names } = record(definition.spec);
    const mine = record(names);
    for (const other of readObjects(this.#engine, this.#definitions, '')) {
      const spec = record(other.spec);
      if (other.metadata.name === definition.metadata.name || spec.group !== group || !isEstablished(other))
        continue;
      const theirs = record(spec.names);
      if (theirs.kind === mine.kind) return `${JSON.stringify(mine.kind)} is already in use`;
      const short = list(theirs.shortNames).find((name) => list(mine.shortNames).includes(name));
      if (short !== undefined) return `${JSON.stringify(short)} is already in use`;
    }
    return undefined;
  }

  /** Deletes the objects of a definition that is being deleted, and lets it go when none is left. */
  async #end(definition: KubeObject): Promise<void> {
    if (!list(definition.metadata.finalizers).includes(crdFinalizer)) return;
    const served = this.#engine.resources
      .groups()
      .flatMap(({ versions }) =>
        versions.flatMap(({ resources }) =>
          resources.filter((resource) => resource.custom?.crd.metadata.name === definition.metadata.name),
        ),
      )[0];
    if (served !== undefined) {
      const objects = readObjects(this.#engine, served, '');
      const running = objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      for (const { metadata } of running) {
        await deleteObject(
          this.#engine,
          served,
          metadata.namespace ?? '',
          metadata.name,
          {},
          serverContext(),
        );
      }
      if (readObjects(this.#engine, served, '').length > 0) {
        this.#whenGone(served);
        return;
      }
    }
    await this.#update(definition, '', (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        finalizers: list(current.metadata.finalizers)
          .map(String)
          .filter((name) => name !== crdFinalizer),
      },
    }));
  }

  /** Looks again after the next deletion of an object of the kind. */
  #whenGone(served: Served): void {
    const stop = this.#engine.store.onCommit((changes) => {
      if (!changes.some((change) => change.deleted && change.key.startsWith(`${served.storage}/`))) return;
      stop();
      this.#changed();
    });
  }

  async #update(
    definition: KubeObject,
    subresource: string,
    change: (current: KubeObject) => KubeObject,
  ): Promise<void> {
    const { name, uid } = definition.metadata;
    try {
      await updateObject(
        this.#engine,
        this.#definitions,
        '',
        name,
        subresource,
        (current) => (current.metadata.uid === uid ? change(current) : current),
        serverContext(),
      );
    } catch (error) {
      if ((error as { code?: unknown }).code !== 404) throw error;
    }
  }
}

function isEstablished(definition: KubeObject): boolean {
  return list(record(definition.status).conditions).some(
    (condition) => record(condition).type === 'Established' && record(condition).status === 'True',
  );
}
