import { accessCases } from './access.ts';
import { crudCases } from './crud.ts';
import { customCases } from './custom.ts';
import { differenceCases } from './differences.ts';
import { discoveryCases } from './discovery.ts';
import type { ContractCase } from './environment.ts';
import { expressionCases } from './expressions.ts';
import { judgementCases } from './judgement.ts';
import { lifecycleCases } from './lifecycle.ts';
import { listCases } from './list.ts';
import { patchCases } from './patch.ts';
import { podSecurityCases } from './pod-security.ts';
import { policyCases } from './policies.ts';
import { watchCases } from './watch.ts';

/** All that both engines are held to, by subject. */
export const subjects: readonly [subject: string, cases: readonly ContractCase[]][] = [
  // First: kube-apiserver 1.34 never fills the cache of a params kind again once the last policy that named it was
  // deleted, so these must stand before a case makes and deletes one with ConfigMap params.
  ["the product's policies", policyCases],
  ['objects', crudCases],
  ['lists', listCases],
  ['watches', watchCases],
  ['patches', patchCases],
  ['lifecycle', lifecycleCases],
  ['custom kinds', customCases],
  ['judgement', judgementCases],
  ['pod security', podSecurityCases],
  ['expressions', expressionCases],
  ['discovery and tables', discoveryCases],
  ['identities and rights', accessCases],
  ['differences', differenceCases],
];
