import { readFileSync } from 'node:fs';
import type { AnyObject, PolicyRule } from '../../src/api/core.ts';

/** One thing that a role lets somebody do, or that somebody did: `verb group/resource[/subresource][ name]`. */
export type Right = string;

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
  readonly requestURI: string;
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What one identity did, and what it was refused. */
export interface Used {
  readonly done: ReadonlySet<Right>;
  readonly refused: ReadonlySet<string>;
}

/** Reads an audit log of kube-apiserver: what one user did. Writes to a resource are told apart by its name. */
export function usedBy(auditLog: string, username: string): Used {
  const done = new Set<Right>();
  const refused = new Set<string>();
  for (const line of readFileSync(auditLog, 'utf8').split('\n')) {
    if (line === '') continue;
    const event = JSON.parse(line) as AuditEvent;
    if (event.user.username !== username) continue;
    const { apiGroup = '', resource, subresource, name } = event.objectRef ?? {};
    const what =
      resource === undefined
        ? `get ${event.requestURI.split('?')[0]}`
        : rightOf(event.verb, apiGroup, `${resource}${subresource === undefined ? '' : `/${subresource}`}`);
    if (event.annotations?.['authorization.k8s.io/decision'] === 'forbid')
      refused.add(`${what} ${name ?? ''}`.trim());
    else done.add(what);
  }
  return { done, refused };
}

function rightOf(verb: string, group: string, resource: string): Right {
  return `${verb} ${group === '' ? 'core' : group}/${resource}`;
}

/** Everything that a role grants, one by one; names of resources are left out, as in what was done. */
export function grantedBy(role: AnyObject): Set<Right> {
  const rights = new Set<Right>();
  for (const rule of (role.rules ?? []) as PolicyRule[]) {
    for (const verb of rule.verbs) {
      for (const url of rule.nonResourceURLs ?? []) rights.add(`${verb} ${url}`);
      for (const group of rule.apiGroups ?? []) {
        for (const resource of rule.resources ?? []) rights.add(rightOf(verb, group, resource));
      }
    }
  }
  return rights;
}
