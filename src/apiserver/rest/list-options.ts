import { errorBody, type FieldError, forbidden, notSupported } from '../schema/field-error.ts';

export interface ListQuery {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
}

import { invalid } from '../status.ts';

/** What of a request's options does not go together (apimachinery, ValidateListOptions). */

const field = 'resourceVersionMatch';

/** @throws 422 */
export function checkListOptions(query: ListQuery): void {
  const { resourceVersionMatch: match = '', resourceVersion = '', sendInitialEvents } = query;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '')
      errors.push(forbidden(field, `${field} is forbidden unless resourceVersion is provided`));
    errors.push(...withContinue(query));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.push(notSupported(field, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && resourceVersion === '0') {
      errors.push(forbidden(field, `${field} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  refuse(errors);
}

/** @throws 422 */
export function checkWatchOptions(query: ListQuery): void {
  const { resourceVersionMatch: match = '', sendInitialEvents } = query;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(field, `sendInitialEvents requires setting ${field} to NotOlderThan`));
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) {
      errors.push(forbidden(field, `${field} is forbidden for watch unless sendInitialEvents is provided`));
    }
    if (match !== 'NotOlderThan') errors.push(notSupported(field, match, ['NotOlderThan']));
    errors.push(...withContinue(query));
  }
  refuse(errors);
}

function withContinue(query: ListQuery): FieldError[] {
  return query.continue ? [forbidden(field, `${field} is forbidden when continue is provided`)] : [];
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const causes = errors.map((error) => ({
    reason: error.type,
    message: errorBody(error),
    field: error.field,
  }));
  throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', causes);
}
