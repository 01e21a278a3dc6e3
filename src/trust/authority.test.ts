import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { backdateMs, createAuthority, issue } from './authority.ts';

test('D18 a leaf is issued by its authority, with its names, and is valid from a day ago', async () => {
  const now = Date.UTC(2026, 0, 2);
  const authority = await createAuthority('test-ca', { now });
  const leaf = await issue(authority, {
    commonName: 'system:node:master-0',
    organizations: ['system:nodes'],
    dnsNames: ['api-int.sluice.internal', 'localhost'],
    ipAddresses: ['127.0.0.1', '::1'],
    usage: 'both',
    days: 10,
    now,
  });
  const certificate = new X509Certificate(leaf.certPem);
  const ca = new X509Certificate(authority.certPem);
  assert.ok(certificate.checkIssued(ca) && certificate.verify(ca.publicKey));
  assert.equal(certificate.subject, 'O=system:nodes\nCN=system:node:master-0');
  assert.equal(certificate.checkIP('::1'), '::1');
  assert.equal(certificate.checkHost('api-int.sluice.internal'), 'api-int.sluice.internal');
  assert.equal(certificate.ca, false);
  assert.equal(ca.ca, true);
  assert.equal(certificate.validFromDate.getTime(), now - backdateMs);
  assert.equal(certificate.validToDate.getTime(), now + 10 * backdateMs);
});

test('a leaf never outlives its authority', async () => {
  const authority = await createAuthority('short', { days: 5 });
  const leaf = new X509Certificate((await issue(authority, { commonName: 'x', usage: 'client' })).certPem);
  assert.equal(leaf.validToDate.getTime(), new X509Certificate(authority.certPem).validToDate.getTime());
});

test('mutual TLS works with issued certificates, and a foreign client is refused', async (t) => {
  const authority = await createAuthority('one');
  const foreign = await createAuthority('two');
  const server = await issue(authority, {
    commonName: 'server',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const listener = createServer(
    {
      cert: server.certPem,
      key: server.keyPem,
      ca: authority.certPem,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (req, res) => res.end((req.socket as TLSSocket).getPeerCertificate().subject.CN),
  ).listen(0, '127.0.0.1');
  t.after(() => listener.close());
  await once(listener, 'listening');
  const port = (listener.address() as AddressInfo).port;
  const ask = async (by: typeof authority) => {
    const client = await issue(by, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const req = request({
      host: '127.0.0.1',
      port,
      ca: authority.certPem,
      cert: client.certPem,
      key: client.keyPem,
      agent: false,
    }).end();
    const [response] = await once(req, 'response');
    return Buffer.concat(await response.toArray()).toString();
  };
  assert.equal(await ask(authority), 'admin');
  await assert.rejects(ask(foreign));
});

test('what is not an authority or not an address is refused by name', async () => {
  const authority = await createAuthority('one');
  await assert.rejects(issue({ ...authority, keyPem: 'x' }, { commonName: 'a', usage: 'client' }), {
    code: 'InputInvalid',
  });
  await assert.rejects(issue({ ...authority, certPem: 'x' }, { commonName: 'a', usage: 'client' }), {
    code: 'InputInvalid',
  });
  await assert.rejects(issue(authority, { commonName: 'a', usage: 'server', ipAddresses: ['localhost'] }), {
    message: 'localhost is not an IP address',
  });
});
