/** How much `upgrade status --details` shows. */
export const detailWords = ['none', 'all', 'nodes', 'health', 'operators'] as const;
export type Detail = (typeof detailWords)[number];
