import assert from 'node:assert/strict';
import type { AnyObject } from '../../src/api/core.ts';
import { renderCrds } from '../../src/api/crds.ts';
import { names } from '../../src/api/names.ts';
import { applyObject } from '../../src/kube/apply.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { writeInUse } from '../../src/release/objects.ts';
import { shippedManifests } from '../shipped.ts';
import {
  type Answer,
  assertFailure,
  type ContractCase,
  type Environment,
  eventually,
} from './environment.ts';

/** The rights and policies that are shipped in deploy/, as they act on each engine. */

const { internalReleaseImage, inUse } = names('standalone');
const shippedFiles = ['00-namespaces.yaml', '10-preflight.yaml', '40-release-guard.yaml'];
const reader = 'system:serviceaccount:openshift-update-preflight:preflight-reader';
const release = (name: string) => `ocp-release-bundle-${name}-x86_64`;

const shipped = new WeakMap<KubeClient, Promise<void>>();

/** Brings our kinds and what is shipped to an engine, once. */
function ship({ client }: Environment): Promise<void> {
  const standing = shipped.get(client) ?? apply(client);
  shipped.set(client, standing);
  return standing;
}

async function apply(client: KubeClient): Promise<void> {
  for (const crd of renderCrds('standalone')) await applyObject(client, crd as unknown as AnyObject);
  for (const object of await shippedManifests(shippedFiles)) await applyObject(client, object);
  await eventually(async () => {
    const { group, version } = client.kinds.InternalReleaseImage;
    return await client.raw({ path: `/apis/${group}/${version}/internalreleaseimages` }).then(
      () => true,
      () => false,
    );
  });
}

interface Question {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
}

async function may(env: Environment, user: string, question: Question): Promise<boolean> {
  const answer = await env.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    body: {
      spec: {
        user,
        groups: ['system:serviceaccounts', 'system:authenticated'],
        resourceAttributes: { namespace: 'default', group: '', ...question },
      },
    },
  });
  return answer.body.status.allowed;
}

const read = ['get', 'list', 'watch'];
const write = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const readable: readonly [group: string, resource: string][] = [
  ['', 'pods'],
  ['', 'nodes'],
  ['', 'configmaps'],
  ['apps', 'deployments'],
  ['batch', 'jobs'],
  ['policy', 'poddisruptionbudgets'],
  ['rbac.authorization.k8s.io', 'clusterroles'],
  ['config.openshift.io', 'clusterversions'],
  ['machineconfiguration.openshift.io', 'internalreleaseimages'],
  ['sluice.dev', 'nodeupdates'],
];
const never: readonly Question[] = [
  ...[...read, ...write].map((verb) => ({ verb, resource: 'secrets' })),
  ...['get', 'create'].flatMap((verb) =>
    ['exec', 'attach', 'portforward', 'proxy', 'log', 'eviction', 'ephemeralcontainers'].map(
      (subresource) => ({ verb, resource: 'pods', subresource }),
    ),
  ),
  ...['nodes', 'services'].map((resource) => ({ verb: 'get', resource, subresource: 'proxy' })),
  { verb: 'create', resource: 'serviceaccounts', subresource: 'token' },
  { verb: 'impersonate', resource: 'users' },
  ...['bind', 'escalate'].map((verb) => ({
    verb,
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterroles',
  })),
];

/** Asks to delete it, for show, until the refusal says this. */
async function untilRefused(env: Environment, why: RegExp): Promise<void> {
  let answer: Answer | undefined;
  await eventually(
    async () => {
      answer = await env.request('DELETE', `${images}/${internalReleaseImage}`, { query: { dryRun: 'All' } });
      return answer.status >= 400 && why.test(answer.body.message);
    },
    () => answer,
  );
}

/** An InternalReleaseImage with these releases, of which some are in use. */
async function beginGuarded(env: Environment, releases: string[], inUse: string[]): Promise<void> {
  const { client } = env;
  await ship(env);
  await writeInUse(client, { names: new Map(inUse.map((name) => [name, 'a test'])), digests: new Set() });
  await client.create(client.kinds.InternalReleaseImage, {
    metadata: { name: internalReleaseImage },
    spec: { releases: releases.map((name) => ({ name })) },
  });
}

async function endGuarded({ client }: Environment): Promise<void> {
  await writeInUse(client, { names: new Map(), digests: new Set() });
  let refused: unknown;
  await eventually(
    () =>
      client.delete(client.kinds.InternalReleaseImage, internalReleaseImage).then(
        () => true,
        (error: unknown) => {
          refused = String(error);
          return false;
        },
      ),
    () => refused,
  );
}

const images = '/apis/machineconfiguration.openshift.io/v1/internalreleaseimages';
const withReleases = (...list: string[]) => ({
  body: { spec: { releases: list.map((name) => ({ name })) } },
  headers: { 'content-type': 'application/merge-patch+json' },
});

export const policyCases: readonly ContractCase[] = [
  {
    name: 'the preflight identity reads how the cluster is set up, and may nothing else',
    async run(env) {
      await ship(env);
      await eventually(() => may(env, reader, { verb: 'list', resource: 'pods' }));
      for (const [group, resource] of readable) {
        for (const verb of read)
          assert.ok(await may(env, reader, { verb, group, resource }), `${verb} ${resource}`);
        for (const verb of write)
          assert.ok(!(await may(env, reader, { verb, group, resource })), `${verb} ${resource}`);
      }
      for (const question of never) {
        assert.ok(!(await may(env, reader, question)), JSON.stringify(question));
      }
    },
  },
  {
    name: 'a release in use cannot be taken out of the InternalReleaseImage, and the answer says why',
    async run(env) {
      const [one, two] = [release('1.0.0'), release('1.1.0')];
      await beginGuarded(env, [one, two], [one]);
      try {
        const remove = () => env.request('PATCH', `${images}/${internalReleaseImage}`, withReleases(two));
        // A real API server hears of a new policy a moment later.
        await eventually(async () => {
          const dry = { ...withReleases(two), query: { dryRun: 'All' } };
          return (await env.request('PATCH', `${images}/${internalReleaseImage}`, dry)).status === 403;
        });
        const why = new RegExp(`in use, so it cannot be removed: ${one}.*sluice-in-use`);
        assertFailure(await remove(), 403, 'Forbidden', why);
        const free = await env.request('PATCH', `${images}/${internalReleaseImage}`, withReleases(one));
        assert.equal(free.status, 200);
      } finally {
        await endGuarded(env);
      }
    },
  },
  {
    name: 'the InternalReleaseImage cannot be deleted while a release of it is in use, and the answer says why',
    async run(env) {
      const one = release('1.0.0');
      await beginGuarded(env, [one], [one]);
      try {
        await untilRefused(env, /in use/);
        const refused = await env.request('DELETE', `${images}/${internalReleaseImage}`);
        assertFailure(refused, 403, 'Forbidden', new RegExp(`in use, so it cannot be removed: ${one}`));
      } finally {
        await endGuarded(env);
      }
    },
  },
  {
    name: 'where it cannot be told what is in use, nothing is removed',
    async run(env) {
      const one = release('1.0.0');
      await beginGuarded(env, [one], []);
      try {
        await writeInUse(env.client, undefined);
        await untilRefused(env, /cannot be told which releases are in use/);
        await env.client.delete(env.client.kinds.PolicyFacts, inUse);
        await untilRefused(env, /no params found/);
      } finally {
        await endGuarded(env);
      }
    },
  },
];
