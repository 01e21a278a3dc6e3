import { CelCompileError, compileExpression, type Expression } from '../cel/cel.ts';
import { authorizerTyping } from '../cel/library-authorizer.ts';
import { dyn, type Typing } from '../cel/typing.ts';
import { type FieldError, indexPath, invalid } from '../schema/field-error.ts';
import { isObject, type JsonObject, type JsonValue } from '../schema/json.ts';

/** The expressions of a ValidatingAdmissionPolicy made ready (apiserver, admission/plugin/policy/validating). */
export interface PolicyExpressions {
  /** What does not compile, by field. */
  readonly problems: readonly FieldError[];
  readonly matchConditions: readonly { readonly name: string; readonly expression: Expression }[];
  readonly variables: readonly { readonly name: string; readonly expression: Expression }[];
  readonly validations: readonly Validation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly expression: Expression }[];
}

export interface Validation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

const text: Typing = { name: 'string' };

function record(fields: Readonly<Record<string, Typing>>): Typing {
  const known = new Map(Object.entries(fields).map(([name, typing]) => [name, { json: name, typing }]));
  return { name: 'object', fields: () => known };
}

const kindTyping = record({ group: text, version: text, kind: text });
const resourceTyping = record({ group: text, version: text, resource: text });

/** What an expression may read of the request (admission/v1 AdmissionRequest, without the objects). */
export const requestTyping = record({
  kind: kindTyping,
  resource: resourceTyping,
  subResource: text,
  requestKind: kindTyping,
  requestResource: resourceTyping,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: record({
    username: text,
    uid: text,
    groups: { name: 'list', item: text },
    extra: { name: 'map', item: { name: 'list', item: text } },
  }),
  dryRun: { name: 'bool' },
  options: dyn,
});

/** Compiles all expressions of a policy; those that do not compile are left out and listed. */
export function compilePolicy(policy: JsonObject): PolicyExpressions {
  const spec = isObject(policy.spec) ? policy.spec : {};
  const problems: FieldError[] = [];
  const base: Record<string, Typing> = {
    object: dyn,
    oldObject: dyn,
    request: requestTyping,
    ...(spec.paramKind === undefined ? {} : { params: dyn }),
  };
  const compile = (
    source: JsonValue | undefined,
    path: string,
    declared: Readonly<Record<string, Typing>>,
    result?: readonly string[],
  ): Expression | undefined => {
    try {
      return compileExpression(typeof source === 'string' ? source : '', declared, result);
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error;
      problems.push(invalid(path, source ?? '', error.message));
      return undefined;
    }
  };

  const matchConditions = entries(spec.matchConditions, 'spec.matchConditions').flatMap(({ raw, path }) => {
    const declared = { ...base, authorizer: authorizerTyping };
    const expression = compile(raw.expression, `${path}.expression`, declared, ['bool']);
    return expression === undefined ? [] : [{ name: String(raw.name ?? ''), expression }];
  });

  // A variable sees those that stand before it.
  const known = new Map<string, { json: string; typing: Typing }>();
  const composed: Record<string, Typing> = {
    ...base,
    namespaceObject: dyn,
    authorizer: authorizerTyping,
    variables: { name: 'object', fields: () => known },
  };
  const variables = entries(spec.variables, 'spec.variables').flatMap(({ raw, path }) => {
    const name = String(raw.name ?? '');
    const expression = compile(raw.expression, `${path}.expression`, composed);
    known.set(name, { json: name, typing: expression === undefined ? dyn : expression.typing });
    return expression === undefined ? [] : [{ name, expression }];
  });

  const { authorizer: _, ...withoutAuthorizer } = composed;
  const validations = entries(spec.validations, 'spec.validations').flatMap(({ raw, path }) => {
    const expression = compile(raw.expression, `${path}.expression`, composed, ['bool']);
    const messageExpression =
      typeof raw.messageExpression === 'string' && raw.messageExpression.trim() !== ''
        ? compile(raw.messageExpression, `${path}.messageExpression`, withoutAuthorizer, ['string'])
        : undefined;
    if (expression === undefined) return [];
    const message = typeof raw.message === 'string' ? raw.message.trim() : '';
    const reason = typeof raw.reason === 'string' ? raw.reason : '';
    return [{ expression, message, messageExpression, reason }];
  });

  const auditAnnotations = entries(spec.auditAnnotations, 'spec.auditAnnotations').flatMap(
    ({ raw, path }) => {
      const expression = compile(raw.valueExpression, `${path}.valueExpression`, composed, [
        'string',
        'null_type',
      ]);
      return expression === undefined ? [] : [{ key: String(raw.key ?? ''), expression }];
    },
  );
  return { problems, matchConditions, variables, validations, auditAnnotations };
}

function entries(list: JsonValue | undefined, path: string): { raw: JsonObject; path: string }[] {
  return (Array.isArray(list) ? list : []).flatMap((raw, at) =>
    isObject(raw) ? [{ raw, path: indexPath(path, at) }] : [],
  );
}
