import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../observe/metrics.ts';
import { countRequests, methodLabel } from './request-metrics.ts';
import { serve } from './server.ts';

test('requests are counted by what was asked and how it was answered', async (t) => {
  const metrics = createMetrics();
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: countRequests(
      metrics,
      'sluice_thing',
      ['method'],
      (request) => ({ method: methodLabel(request) }),
      (request, response) => {
        if (request.url === '/slow') return;
        response.writeHead(request.url === '/' ? 200 : 404).end('x'.repeat(1000));
      },
    ),
  });
  t.after(() => server.close(0));
  const url = `http://127.0.0.1:${server.port}`;
  for (const path of ['/', '/', '/none']) await (await fetch(url + path)).text();
  await fetch(url, { method: 'PURGE' }).then((response) => response.text());
  await assert.rejects(fetch(`${url}/slow`, { signal: AbortSignal.timeout(200) }));
  let text = '';
  for (let round = 0; round < 50 && !text.includes('499'); round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    text = await metrics.render();
  }
  assert.match(text, /^sluice_thing_requests_total\{method="GET",code="200"\} 2$/m);
  assert.match(text, /^sluice_thing_requests_total\{method="GET",code="404"\} 1$/m);
  assert.match(text, /^sluice_thing_requests_total\{method="GET",code="499"\} 1$/m);
  assert.match(text, /^sluice_thing_requests_total\{method="other",code="200"\} 1$/m);
  assert.match(text, /^sluice_thing_request_duration_seconds_count\{method="GET"\} 4$/m);
  assert.match(text, /^sluice_thing_requests_in_flight 0$/m);
  assert.ok(Number(/^sluice_thing_response_bytes_total (\d+)$/m.exec(text)?.[1]) > 4000);
});
