import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core/dist/dynamic/components/DescriptionList';
import type { ReactNode } from 'react';

/** Terms with what they are; `undefined` leaves a term out. */
export type FactRows = readonly (readonly [term: string, fact: ReactNode])[];

/** @param beside terms stand beside what they are, in one column; otherwise above it, in two where there is room. */
export function FactList({ rows, beside = false }: { readonly rows: FactRows; readonly beside?: boolean }) {
  return (
    <DescriptionList
      isCompact
      {...(beside
        ? { isHorizontal: true, horizontalTermWidthModifier: { default: '9ch' } }
        : { columnModifier: { default: '1Col', lg: '2Col' } })}
    >
      {rows
        .filter(([, fact]) => fact !== undefined)
        .map(([term, fact]) => (
          <DescriptionListGroup key={term}>
            <DescriptionListTerm>{term}</DescriptionListTerm>
            <DescriptionListDescription>{fact}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
    </DescriptionList>
  );
}
