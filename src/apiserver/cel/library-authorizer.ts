import { type Library, library } from './library.ts';
import type { Typing } from './typing.ts';
import { type CelValue, Opaque } from './values.ts';

/** Kubernetes' authorizer library (apiserver, cel/library/authz.go): policies ask whether the requester may do more. */
export interface AuthorizerCheck {
  /** Empty for the user of the request, else `system:serviceaccount:<namespace>:<name>`. */
  readonly serviceAccount?: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly verb: string;
}

export type AskAuthorizer = (check: AuthorizerCheck) => { allowed: boolean; reason: string };

/** How `authorizer` is declared: a question to start from, with the request's own resource behind a dot. */
export const authorizerTyping: Typing = {
  name: 'kubernetes.authorization.Authorizer',
  fields: () =>
    new Map([
      [
        'requestResource',
        { json: 'requestResource', typing: { name: 'kubernetes.authorization.ResourceCheck' } },
      ],
    ]),
};

const names = {
  authorizer: 'kubernetes.authorization.Authorizer',
  path: 'kubernetes.authorization.PathCheck',
  group: 'kubernetes.authorization.GroupCheck',
  resource: 'kubernetes.authorization.ResourceCheck',
  decision: 'kubernetes.authorization.Decision',
} as const;

/** A question being put together; `requestResource` of an authorizer is the resource of the request itself. */
export class AuthorizerValue extends Opaque {
  override readonly typeName: string;
  readonly ask: AskAuthorizer;
  readonly check: Omit<AuthorizerCheck, 'verb'>;
  readonly #requestResource: Omit<AuthorizerCheck, 'verb'> | undefined;

  constructor(
    ask: AskAuthorizer,
    check: Omit<AuthorizerCheck, 'verb'> = {},
    step: keyof typeof names = 'authorizer',
    requestResource?: Omit<AuthorizerCheck, 'verb'>,
  ) {
    super();
    this.ask = ask;
    this.check = check;
    this.typeName = names[step];
    this.#requestResource = requestResource;
  }

  override field(name: string): CelValue | undefined {
    if (name !== 'requestResource' || this.#requestResource === undefined) return undefined;
    return new AuthorizerValue(this.ask, this.#requestResource, 'resource');
  }

  override equals(other: Opaque): boolean {
    return other === this;
  }

  with(part: Omit<AuthorizerCheck, 'verb'>, step: keyof typeof names): AuthorizerValue {
    return new AuthorizerValue(this.ask, { ...this.check, ...part }, step);
  }
}

class DecisionValue extends Opaque {
  override readonly typeName = names.decision;
  readonly decision: { allowed: boolean; reason: string };

  constructor(decision: { allowed: boolean; reason: string }) {
    super();
    this.decision = decision;
  }

  override equals(other: Opaque): boolean {
    return other === this;
  }
}

const { authorizer, path, group, resource, decision } = names;

function check(this: unknown, value: AuthorizerValue, verb: string): CelValue {
  return new DecisionValue(value.ask({ ...value.check, verb }));
}

export const authorizerLibrary: Library = library({
  [`${authorizer}.path(string): ${path}`]: (value: AuthorizerValue, text: string) =>
    value.with({ path: text }, 'path'),
  [`${authorizer}.group(string): ${group}`]: (value: AuthorizerValue, text: string) =>
    value.with({ group: text }, 'group'),
  [`${authorizer}.serviceAccount(string, string): ${authorizer}`]: (
    value: AuthorizerValue,
    namespace: string,
    name: string,
  ) => value.with({ serviceAccount: `system:serviceaccount:${namespace}:${name}` }, 'authorizer'),
  [`${group}.resource(string): ${resource}`]: (value: AuthorizerValue, text: string) =>
    value.with({ resource: text }, 'resource'),
  [`${resource}.subresource(string): ${resource}`]: (value: AuthorizerValue, text: string) =>
    value.with({ subresource: text }, 'resource'),
  [`${resource}.namespace(string): ${resource}`]: (value: AuthorizerValue, text: string) =>
    value.with({ namespace: text }, 'resource'),
  [`${resource}.name(string): ${resource}`]: (value: AuthorizerValue, text: string) =>
    value.with({ name: text }, 'resource'),
  [`${resource}.check(string): ${decision}`]: check,
  [`${path}.check(string): ${decision}`]: check,
  [`${decision}.allowed(): bool`]: (value: DecisionValue) => value.decision.allowed,
  [`${decision}.reason(): string`]: (value: DecisionValue) => value.decision.reason,
  [`${decision}.errored(): bool`]: () => false,
  [`${decision}.error(): string`]: () => '',
});
