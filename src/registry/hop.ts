/**
 * Marks requests of other nodes: they are answered from here alone, and with the value `hopStore` only from the
 * disk, so that a slow medium is not read for a node that would rather wait. Blobs are then had as soon as they are
 * whole, before the repositories of their release link them.
 */
export const hopHeader = 'sluice-hop';
export const hopStore = 'store';
