import { configMapRules, secretRules } from './config-rules.ts';
import { validateCustomResourceDefinition } from './custom-resource.ts';
import type { FieldError } from './field-error.ts';
import type { JsonObject } from './json.ts';
import { podRules } from './pod-rules.ts';
import { policyBindingRules, policyRules } from './policy-rules.ts';
import { roleBindingRules, roleRules } from './rbac-rules.ts';
import {
  deploymentRules,
  disruptionBudgetRules,
  jobRules,
  leaseRules,
  serviceRules,
  setRules,
} from './workload-rules.ts';

/** What is wrong with an object of one kind beyond types; with `old`, also what must not change. */
export type Rules = (object: JsonObject, old?: JsonObject) => Iterable<FieldError>;

/** Kubernetes' own validation by kind (kubernetes, pkg/apis/…/validation): what a rehearsal of an update can run into. */
export const builtinRules: Readonly<Record<string, Rules>> = {
  Pod: podRules,
  ConfigMap: configMapRules,
  Secret: secretRules,
  Service: serviceRules,
  'Deployment.apps': deploymentRules,
  'StatefulSet.apps': setRules,
  'DaemonSet.apps': setRules,
  'Job.batch': jobRules,
  'PodDisruptionBudget.policy': disruptionBudgetRules,
  'Lease.coordination.k8s.io': leaseRules,
  'Role.rbac.authorization.k8s.io': roleRules,
  'ClusterRole.rbac.authorization.k8s.io': roleRules,
  'RoleBinding.rbac.authorization.k8s.io': roleBindingRules,
  'ClusterRoleBinding.rbac.authorization.k8s.io': roleBindingRules,
  'CustomResourceDefinition.apiextensions.k8s.io': validateCustomResourceDefinition,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': policyRules,
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': policyBindingRules,
};
