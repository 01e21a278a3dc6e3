import type { LabelSelector } from '../../api/core.ts';
import { selects } from '../../api/selector.ts';
import { isObject, type JsonObject, type JsonValue, stringAt, valueAt } from '../schema/json.ts';
import type { AdmissionRequest } from './request.ts';

/** Kinds that no policy applies to, or a wrong one could never be mended (apiserver, admission/plugin/policy/matching). */
const exempt = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
]);

export function isExempt(request: AdmissionRequest): boolean {
  return request.group === 'admissionregistration.k8s.io' && exempt.has(request.resource);
}

/**
 * Whether MatchResources of a policy or a binding choose a request. Without rules everything is chosen: a binding may
 * leave them to its policy.
 */
export function matchesResources(
  match: JsonObject,
  request: AdmissionRequest,
  namespaceLabels: () => JsonObject,
): boolean {
  if (!selectsNamespace(match.namespaceSelector, request, namespaceLabels)) return false;
  if (!selectsObject(match.objectSelector, request)) return false;
  const isExact = match.matchPolicy === 'Exact';
  if (rulesOf(match.excludeResourceRules).some((rule) => matchesRule(rule, request, isExact))) return false;
  const rules = rulesOf(match.resourceRules);
  return rules.length === 0 || rules.some((rule) => matchesRule(rule, request, isExact));
}

function selectsNamespace(
  selector: JsonValue | undefined,
  request: AdmissionRequest,
  namespaceLabels: () => JsonObject,
): boolean {
  const isNamespace = request.group === '' && request.resource === 'namespaces';
  if (isAll(selector) || ((request.namespace ?? '') === '' && !isNamespace)) return true;
  const own = isNamespace && request.operation !== 'DELETE' ? labelsOf(request.object) : namespaceLabels();
  return selects(selector as LabelSelector, own as Record<string, string>);
}

function selectsObject(selector: JsonValue | undefined, { object, oldObject }: AdmissionRequest): boolean {
  if (isAll(selector)) return true;
  return [object, oldObject].some(
    (either) =>
      either !== null && selects(selector as LabelSelector, labelsOf(either) as Record<string, string>),
  );
}

function isAll(selector: JsonValue | undefined): boolean {
  if (!isObject(selector)) return true;
  const { matchLabels, matchExpressions } = selector;
  const noLabels = !isObject(matchLabels) || Object.keys(matchLabels).length === 0;
  return noLabels && rulesOf(matchExpressions).length === 0;
}

export function labelsOf(object: JsonObject | null | undefined): JsonObject {
  const labels = valueAt(object ?? undefined, 'metadata', 'labels');
  return isObject(labels) ? labels : {};
}

function matchesRule(rule: JsonObject, request: AdmissionRequest, isExact: boolean): boolean {
  const among = (list: JsonValue | undefined, value: string) =>
    Array.isArray(list) && (list.includes('*') || list.includes(value));
  const scope = stringAt(rule, 'scope') ?? '*';
  const isNamespaced = (request.namespace ?? '') !== '' && request.resource !== 'namespaces';
  if (scope !== '*' && (scope === 'Namespaced') !== isNamespaced) return false;
  if (!among(rule.operations, request.operation) || !among(rule.apiGroups, request.group)) return false;
  // Versions of one kind are the same objects here, so Equivalent asks for no version.
  if (isExact && !among(rule.apiVersions, request.version)) return false;
  const names = rule.resourceNames;
  if (Array.isArray(names) && names.length > 0 && !names.includes(request.name)) return false;
  return (Array.isArray(rule.resources) ? rule.resources : []).some((pattern) => {
    const [resource = '', subresource = ''] = String(pattern).split('/');
    const isResource = resource === '*' || resource === request.resource;
    return isResource && (subresource === '*' || subresource === (request.subresource ?? ''));
  });
}

function rulesOf(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
