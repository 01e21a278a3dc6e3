import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { imageOf } from '../../tests/content.ts';
import { isSluiceError } from '../errors/error.ts';
import { createHttpClient } from '../http/client.ts';
import { serve } from '../http/server.ts';
import { createRegistryClient } from './client.ts';
import { digestOf, referrersTag } from './digest.ts';
import { nextPage } from './link.ts';
import { mediaTypes } from './manifest.ts';

const image = imageOf([Buffer.from('layer')]);
const blob = randomBytes(100_000);
const digest = digestOf(blob);

/** A client of a server that answers as the test says. */
async function against(
  t: TestContext,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const server = await serve({ address: '127.0.0.1', port: 0, handler });
  const http = createHttpClient();
  t.after(async () => {
    await http.close();
    await server.close(0);
  });
  const baseUrl = `http://127.0.0.1:${server.port}`;
  return createRegistryClient({ baseUrl, http, auth: { username: 'u', password: 'p' } });
}

const isCode = (code: Parameters<typeof isSluiceError>[1]) => (error: unknown) =>
  isSluiceError(error, code as 'NotFound');

async function read(client: ReturnType<typeof createRegistryClient>, offset: number): Promise<Buffer> {
  const found = await client.blob('a', digest, { offset });
  const chunks: Uint8Array[] = [];
  for await (const chunk of found?.stream ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('M16 the digest is that of the bytes, whether the head says one or not', async (t) => {
  const client = await against(t, (_, response) => response.end(image.raw.bytes));
  assert.equal((await client.manifest('a', 'v1'))?.digest, image.raw.digest);
  assert.equal((await client.manifest('a', 'v1'))?.mediaType, mediaTypes.ociManifest);
  await assert.rejects(client.manifest('a', digest), isCode('DigestMismatch'));
  const lying = await against(t, (_, response) =>
    response.writeHead(200, { 'docker-content-digest': digest }).end(image.raw.bytes),
  );
  await assert.rejects(lying.manifest('a', 'v1'), isCode('DigestMismatch'));
});

test('M18 content is asked for as it is, and never unpacked', async (t) => {
  const packed = gzipSync(Buffer.alloc(1000));
  const client = await against(t, (request, response) => {
    assert.equal(request.headers['accept-encoding'], 'identity');
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed);
  });
  assert.ok((await read(client, 0)).equals(packed));
});

test('absent is absent; anything else is an error that says what it was', async (t) => {
  let status = 404;
  const client = await against(t, (_, response) =>
    response.writeHead(status).end('{"errors":[{"code":"DENIED","message":"not for you"}]}'),
  );
  assert.equal(await client.manifest('a', 'v1'), undefined);
  assert.equal(await client.blob('a', digest), undefined);
  assert.deepEqual(await client.tags('a'), []);
  assert.deepEqual(await client.referrers('a', digest), []);
  for (const [answer, code, next] of [
    [401, 'Unauthorized', /authfile/],
    [403, 'Forbidden', /./],
    [429, 'Unreachable', /no more requests for now/],
    [500, 'Unreachable', /error of its own/],
    [204, 'Unreachable', /whether a registry is at this address/],
  ] as const) {
    status = answer;
    for (const ask of [
      () => client.manifest('a', 'v1'),
      () => client.blob('a', digest),
      () => client.tags('a'),
      () => client.referrers('a', digest),
    ]) {
      await assert.rejects(ask(), { code, next });
    }
  }
  status = 403;
  await assert.rejects(client.tags('a'), /not for you/);
});

test('C10 whatever a server makes of a range, the bytes are the right ones', async (t) => {
  const answers: ((response: ServerResponse, offset: number) => void)[] = [
    (response, offset) =>
      response
        .writeHead(206, { 'content-range': `bytes ${offset}-${blob.length - 1}/${blob.length}` })
        .end(blob.subarray(offset)),
    (response) => response.writeHead(200, { 'content-length': blob.length }).end(blob),
    (response) => response.writeHead(416).end(),
    (response, offset) =>
      response.writeHead(206, { 'content-range': `bytes ${offset + 1}-${offset}/${blob.length}` }).end(),
    (response) => response.writeHead(206, { 'content-range': 'nonsense' }).end(blob.subarray(5)),
    (response, offset) =>
      response
        .writeHead(206, { 'content-range': `bytes ${offset}-${offset + 9}/${blob.length}` })
        .end(blob.subarray(offset, offset + 10)),
  ];
  for (const answer of answers) {
    const client = await against(t, (request, response) => {
      const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
      if (asked === undefined) response.writeHead(200, { 'content-length': blob.length }).end(blob);
      else answer(response, Number(asked));
    });
    for (const offset of [0, 1, 70_000, blob.length - 1])
      assert.ok((await read(client, offset)).equals(blob.subarray(offset)), `${offset}`);
    assert.equal((await client.blob('a', digest, { offset: 10 }))?.size, blob.length);
  }
});

test('a body that breaks off is an error, not an end', async (t) => {
  const client = await against(t, (_, response) => {
    response.writeHead(200, { 'content-length': blob.length });
    response.write(blob.subarray(0, 1000), () => response.destroy());
  });
  await assert.rejects(read(client, 0), isCode('Unreachable'));
});

test('redirects are followed at home only, and not for ever; credentials stay', async (t) => {
  const seen: (string | undefined)[] = [];
  const elsewhere = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: (request, response) => {
      seen.push(request.headers.authorization);
      response.end(image.raw.bytes);
    },
  });
  t.after(() => elsewhere.close(0));
  const client = await against(t, (request, response) => {
    if (request.url?.endsWith('/away'))
      response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/x` }).end();
    else if (request.url?.endsWith('/circle')) response.writeHead(302, { location: request.url }).end();
    else if (request.url?.endsWith('/here')) response.writeHead(301, { location: '/moved' }).end();
    else response.end(image.raw.bytes);
  });
  assert.equal((await client.manifest('a', 'here'))?.digest, image.raw.digest);
  await assert.rejects(client.manifest('a', 'away'), /not followed/);
  await assert.rejects(client.manifest('a', 'circle'), /in a circle/);
  assert.deepEqual(seen, []);
});

test('P2 D13 every page of the tags is read, by relative and absolute links, and a list without end is refused', async (t) => {
  const all = Array.from({ length: 2500 }, (_, at) => `t${String(at).padStart(4, '0')}`);
  const paged =
    (linkOf: (request: IncomingMessage, last: string) => string) =>
    (request: IncomingMessage, response: ServerResponse) => {
      const last = new URL(request.url ?? '', 'http://x').searchParams.get('last') ?? '';
      const page = all.filter((tag) => tag > last).slice(0, 1000);
      const more = page.at(-1) === all.at(-1) ? {} : { link: linkOf(request, page.at(-1) ?? '') };
      response.writeHead(200, more).end(JSON.stringify({ name: 'a', tags: page }));
    };
  const relative = await against(
    t,
    paged((_, last) => `</v2/a/tags/list?n=1000&last=${last}>; rel="next"`),
  );
  assert.deepEqual(await relative.tags('a'), all);
  const absolute = await against(
    t,
    paged((request, last) => `<http://${request.headers.host}/v2/a/tags/list?last=${last}>; rel=next`),
  );
  assert.deepEqual(await absolute.tags('a'), all);
  const endless = await against(t, (_, response) =>
    response.writeHead(200, { link: '</v2/a/tags/list?n=1>; rel="next"' }).end('{"tags":["x"]}'),
  );
  await assert.rejects(endless.tags('a'), isCode('InputTooLarge'));
});

test('P4 where there is no referrers API the fallback tag is read', async (t) => {
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociIndex,
    manifests: [image.descriptor, { ...image.descriptor, digest }],
  };
  const client = await against(t, (request, response) => {
    if (request.url === `/v2/a/manifests/${referrersTag(digest)}`) response.end(JSON.stringify(index));
    else response.writeHead(404).end();
  });
  assert.deepEqual(
    (await client.referrers('a', digest)).map((found) => found.digest),
    [image.raw.digest],
  );
});

test('P14 a server that speaks another protocol is unreachable, in words', async (t) => {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: (_, response) => void response.end(),
  });
  const http = createHttpClient();
  t.after(async () => {
    await http.close();
    await server.close(0);
  });
  const client = createRegistryClient({ baseUrl: `https://127.0.0.1:${server.port}`, http });
  await assert.rejects(client.tags('a'), isCode('Unreachable'));
});

test('the next page is what a Link header of RFC 8288 says', () => {
  const here = new URL('http://h/v2/a/tags/list');
  assert.equal(nextPage(undefined, here), undefined);
  assert.equal(nextPage('</x?last=1>; rel="next"', here), '/x?last=1');
  assert.equal(nextPage('<?last=1>; title="a"; rel="prev next"', here), '/v2/a/tags/list?last=1');
  assert.equal(nextPage('</p>; rel="prev", </n>; rel=next', here), '/n');
  assert.equal(nextPage('</p>; rel="prev"', here), undefined);
  assert.equal(nextPage('<http://other/n>; rel="next"', here), undefined);
  assert.equal(nextPage('nonsense', here), undefined);
});
