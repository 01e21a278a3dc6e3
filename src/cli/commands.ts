import type { CommandEntry } from './command-entry.ts';

/** Every command of the program, in the order in which the help shows them. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'bundle',
    summary: 'Build, sign, inspect and verify the bundle that travels on a disk',
    group: 'Prepare',
    load: () => import('./bundle.ts'),
  },
  {
    name: 'payload',
    summary: 'Build and inspect a release payload image',
    group: 'Prepare',
    load: () => import('./payload.ts'),
  },
  {
    name: 'media',
    summary: 'Attach a disk, image file or directory that carries bundles to a node',
    group: 'Bring in',
    load: () => import('./media.ts'),
  },
  {
    name: 'release',
    summary: 'Copy releases to the control-plane nodes, watch them, remove them',
    group: 'Bring in',
    load: () => import('./release.ts'),
  },
  {
    name: 'inventory',
    summary: 'Print what the cluster has, so that a bundle need not carry it again',
    group: 'Bring in',
    load: () => import('./inventory.ts'),
  },
  {
    name: 'preflight',
    summary: "Run a target release's own checks against this cluster, read-only",
    group: 'Update',
    load: () => import('./preflight.ts'),
  },
  {
    name: 'upgrade',
    summary: 'Update the cluster, see what it waits for, or why it is refused',
    group: 'Update',
    load: () => import('./upgrade.ts'),
  },
  {
    name: 'graph',
    summary: 'Show and serve which version may be reached from which',
    group: 'Update',
    load: () => import('./graph.ts'),
  },
  {
    name: 'window',
    summary: 'Open and close the window in which nodes may reboot',
    group: 'Nodes',
    load: () => import('./window.ts'),
  },
  {
    name: 'node',
    summary: 'Run a node agent; see why a node does not reboot yet',
    group: 'Nodes',
    load: () => import('./node.ts'),
  },
  {
    name: 'lock',
    summary: 'See and release the reboot slots of the fleet lock',
    group: 'Nodes',
    load: () => import('./lock.ts'),
  },
  {
    name: 'up',
    summary: 'Run a whole cluster on this machine, to rehearse an update',
    group: 'Run',
    load: () => import('./up.ts'),
  },
  {
    name: 'cluster',
    summary: 'Check what a cluster has and lacks for Sluice; install it there, take it away again',
    group: 'Run',
    load: () => import('./cluster.ts'),
  },
  {
    name: 'apiserver',
    summary: 'Run the embedded Kubernetes API',
    group: 'Run',
    load: () => import('./apiserver.ts'),
  },
  {
    name: 'controller',
    summary: 'Run the controllers of releases, preflights and updates',
    group: 'Run',
    load: () => import('./controller.ts'),
  },
  {
    name: 'console',
    summary: 'Serve the web console, and print the link to log in',
    group: 'Run',
    load: () => import('./console.ts'),
  },
  {
    name: 'registry',
    summary: "Serve a node's store and its verified media",
    group: 'Run',
    load: () => import('./registry.ts'),
  },
  {
    name: 'gather',
    summary: 'Collect what support needs to see, without secrets',
    group: 'Help',
    load: () => import('./gather.ts'),
  },
  {
    name: 'licences',
    summary: 'Print the licences of the program and of all that is in it',
    group: 'Help',
    load: () => import('./licences.ts'),
  },
  {
    name: 'completion',
    summary: 'Print the completion script of bash, zsh or fish',
    group: 'Help',
    load: () => import('./completion.ts'),
  },
];
