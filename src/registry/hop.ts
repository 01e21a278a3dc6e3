/**
 * Marks requests of other nodes: they are answered from here alone, and with the value `hopStore` only from the
 * disk, so that a slow medium is not read for a node that would rather wait.
 */
export const hopHeader = 'sluice-hop';
export const hopStore = 'store';
