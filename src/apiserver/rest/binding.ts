import { rfc3339 } from '../../observe/clock.ts';
import { type KubeObject, list, record } from '../object.ts';
import { badRequest, conflict, notFound, type StatusBody, success } from '../status.ts';
import { currentForWrite, type Engine, type WriteContext } from './engine.ts';
import { storeUpdate } from './write.ts';

/** Assigns a Pod to the Node that a Binding names (kubernetes, pkg/registry/core/pod BindingREST). @throws 400, 404, 409 */
export async function bindPod(
  engine: Engine,
  namespace: string,
  name: string,
  binding: KubeObject,
  context: WriteContext,
): Promise<StatusBody> {
  const target = record(binding.target);
  if (typeof target.name !== 'string' || target.name === '') throw badRequest('target.name: Required value');
  if (target.kind !== undefined && target.kind !== '' && target.kind !== 'Node') {
    throw badRequest('target.kind: Unsupported value: supported values: "Node"');
  }
  const pods = engine.resources.builtIn('v1', 'pods');
  const current = currentForWrite(engine, pods, namespace, name);
  if (current === undefined) throw notFound(pods, name);
  const pod = structuredClone(current.object);
  const spec = record(pod.spec);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(pods, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (spec.nodeName)
    throw conflict(pods, name, `pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`);
  pod.spec = { ...spec, nodeName: target.name };
  pod.metadata.annotations = { ...pod.metadata.annotations, ...binding.metadata?.annotations };
  if (Object.keys(pod.metadata.annotations).length === 0) delete pod.metadata.annotations;
  const status = record(pod.status);
  const others = list(status.conditions).filter((condition) => record(condition).type !== 'PodScheduled');
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: rfc3339(engine.clock.now()) };
  pod.status = { ...status, conditions: [...others, scheduled] };
  if (!context.dryRun) await storeUpdate(engine, pods, current, pod);
  return success();
}
