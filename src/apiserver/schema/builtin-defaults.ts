import { defaultCustomResourceDefinition } from './custom-resource.ts';
import { isObject, type JsonObject } from './json.ts';
import { defaultPod, defaultPodSpec, objectIn, objectsOf, setDefault } from './pod-defaults.ts';

type Defaults = (object: JsonObject) => void;

const rbacGroup = 'rbac.authorization.k8s.io';

/** What Kubernetes fills in, by kind (kubernetes, pkg/apis/…/v1/defaults.go); only what these kinds mean here. */
export const builtinDefaults: Readonly<Record<string, Defaults>> = {
  Pod: defaultPod,
  Secret: (secret) => {
    setDefault(secret, 'type', 'Opaque');
    if (!isObject(secret.stringData)) return;
    const data = objectIn(secret, 'data');
    for (const [key, text] of Object.entries(secret.stringData)) {
      data[key] = Buffer.from(String(text), 'utf8').toString('base64');
    }
    delete secret.stringData;
  },
  Service: (service) => {
    const spec = objectIn(service, 'spec');
    setDefault(spec, 'type', 'ClusterIP');
    setDefault(spec, 'sessionAffinity', 'None');
    setDefault(spec, 'internalTrafficPolicy', 'Cluster');
    for (const port of objectsOf(spec.ports)) {
      setDefault(port, 'protocol', 'TCP');
      if (port.port !== undefined) setDefault(port, 'targetPort', port.port);
    }
  },
  'Deployment.apps': (deployment) => {
    const spec = objectIn(deployment, 'spec');
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'revisionHistoryLimit', 10);
    setDefault(spec, 'progressDeadlineSeconds', 600);
    const strategy = objectIn(spec, 'strategy');
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy.type === 'RollingUpdate') {
      const rolling = objectIn(strategy, 'rollingUpdate');
      setDefault(rolling, 'maxUnavailable', '25%');
      setDefault(rolling, 'maxSurge', '25%');
    }
    defaultTemplate(spec);
    objectIn(deployment, 'status');
  },
  'StatefulSet.apps': (set) => {
    const spec = objectIn(set, 'spec');
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'revisionHistoryLimit', 10);
    setDefault(spec, 'podManagementPolicy', 'OrderedReady');
    const update = objectIn(spec, 'updateStrategy');
    setDefault(update, 'type', 'RollingUpdate');
    if (update.type === 'RollingUpdate') setDefault(objectIn(update, 'rollingUpdate'), 'partition', 0);
    defaultTemplate(spec);
    setDefault(set, 'status', { replicas: 0, availableReplicas: 0 });
  },
  'DaemonSet.apps': (set) => {
    const spec = objectIn(set, 'spec');
    setDefault(spec, 'revisionHistoryLimit', 10);
    const strategy = objectIn(spec, 'updateStrategy');
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy.type === 'RollingUpdate') {
      const rolling = objectIn(strategy, 'rollingUpdate');
      setDefault(rolling, 'maxUnavailable', 1);
      setDefault(rolling, 'maxSurge', 0);
    }
    defaultTemplate(spec);
    setDefault(set, 'status', {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    });
  },
  'Job.batch': (job) => {
    const spec = objectIn(job, 'spec');
    defaultJobSpec(spec);
    objectIn(job, 'status');
  },
  'CronJob.batch': (cron) => {
    const spec = objectIn(cron, 'spec');
    setDefault(spec, 'concurrencyPolicy', 'Allow');
    setDefault(spec, 'suspend', false);
    setDefault(spec, 'successfulJobsHistoryLimit', 3);
    setDefault(spec, 'failedJobsHistoryLimit', 1);
    if (isObject(spec.jobTemplate)) defaultTemplate(objectIn(spec.jobTemplate, 'spec'));
    objectIn(cron, 'status');
  },
  'CustomResourceDefinition.apiextensions.k8s.io': defaultCustomResourceDefinition,
  [`RoleBinding.${rbacGroup}`]: defaultRoleBinding,
  [`ClusterRoleBinding.${rbacGroup}`]: defaultRoleBinding,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': (policy) => {
    const spec = objectIn(policy, 'spec');
    setDefault(spec, 'failurePolicy', 'Fail');
    defaultMatch(objectIn(spec, 'matchConstraints'));
    objectIn(policy, 'status');
  },
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': (binding) => {
    const spec = objectIn(binding, 'spec');
    if (isObject(spec.matchResources)) defaultMatch(spec.matchResources);
  },
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': (config) => defaultWebhooks(config, false),
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': (config) => defaultWebhooks(config, true),
  'PodDisruptionBudget.policy': (budget) => {
    setDefault(budget, 'status', {
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    });
  },
  'NetworkPolicy.networking.k8s.io': (policy) => {
    const spec = objectIn(policy, 'spec');
    const hasEgress = objectsOf(spec.egress).length > 0;
    setDefault(spec, 'policyTypes', hasEgress ? ['Ingress', 'Egress'] : ['Ingress']);
    for (const rule of [...objectsOf(spec.ingress), ...objectsOf(spec.egress)]) {
      for (const port of objectsOf(rule.ports)) setDefault(port, 'protocol', 'TCP');
    }
  },
  'PriorityClass.scheduling.k8s.io': (priority) => {
    setDefault(priority, 'preemptionPolicy', 'PreemptLowerPriority');
  },
  'StorageClass.storage.k8s.io': (storage) => {
    setDefault(storage, 'reclaimPolicy', 'Delete');
    setDefault(storage, 'volumeBindingMode', 'Immediate');
  },
  'FlowSchema.flowcontrol.apiserver.k8s.io': (flow) => {
    setDefault(objectIn(flow, 'spec'), 'matchingPrecedence', 1000);
  },
};

function defaultTemplate(spec: JsonObject): void {
  const template = objectIn(spec, 'template');
  objectIn(template, 'metadata');
  defaultPodSpec(objectIn(template, 'spec'));
}

function defaultJobSpec(spec: JsonObject): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  setDefault(spec, 'parallelism', 1);
  setDefault(spec, 'backoffLimit', 6);
  setDefault(spec, 'completionMode', 'NonIndexed');
  setDefault(spec, 'suspend', false);
  setDefault(spec, 'manualSelector', false);
  setDefault(
    spec,
    'podReplacementPolicy',
    spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed',
  );
  defaultTemplate(spec);
}

function defaultRoleBinding(binding: JsonObject): void {
  setDefault(objectIn(binding, 'roleRef'), 'apiGroup', rbacGroup);
  for (const subject of objectsOf(binding.subjects)) {
    if (subject.kind === 'User' || subject.kind === 'Group') setDefault(subject, 'apiGroup', rbacGroup);
  }
}

function defaultMatch(match: JsonObject): void {
  setDefault(match, 'matchPolicy', 'Equivalent');
  objectIn(match, 'namespaceSelector');
  objectIn(match, 'objectSelector');
  for (const rule of [...objectsOf(match.resourceRules), ...objectsOf(match.excludeResourceRules)]) {
    setDefault(rule, 'scope', '*');
  }
}

function defaultWebhooks(config: JsonObject, mutating: boolean): void {
  for (const webhook of objectsOf(config.webhooks)) {
    setDefault(webhook, 'failurePolicy', 'Fail');
    setDefault(webhook, 'matchPolicy', 'Equivalent');
    setDefault(webhook, 'timeoutSeconds', 10);
    objectIn(webhook, 'namespaceSelector');
    objectIn(webhook, 'objectSelector');
    if (mutating) setDefault(webhook, 'reinvocationPolicy', 'Never');
    for (const rule of objectsOf(webhook.rules)) setDefault(rule, 'scope', '*');
    const client = webhook.clientConfig;
    if (isObject(client) && isObject(client.service)) setDefault(client.service, 'port', 443);
  }
}
