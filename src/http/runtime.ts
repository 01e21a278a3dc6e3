/**
 * HTTP of the runtime. An import of `node:http` reads each of its exports, and one of them is a getter that loads a
 * whole second client (WebSocket, fetch, HTTP/2): 12 MiB in a process that needs none of it. Asking for the module by
 * name loads what is used.
 */
export const { Agent, createServer, request } = process.getBuiltinModule('node:http');

/** HTTPS of the runtime: 8 MiB more, for those who speak TLS. */
export const secureRuntime = () => process.getBuiltinModule('node:https');
