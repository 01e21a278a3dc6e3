import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import { Title } from '@patternfly/react-core/dist/dynamic/components/Title';
import { type ReactNode, useEffect } from 'react';
import { words } from '../words/english.ts';

/** The head of a page: its name, which is also the title of the tab, one sentence, and its buttons. */
export function PageHead({
  title,
  subtitle,
  actions,
}: {
  readonly title: string;
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · ${words.product}`;
  }, [title]);
  return (
    <PageSection className="sluice-head" hasBodyWrapper={false}>
      <div className="sluice-head-row">
        <Title headingLevel="h1" size="2xl">
          {title}
        </Title>
        {actions === undefined ? null : <div className="sluice-head-actions">{actions}</div>}
      </div>
      {subtitle === undefined ? null : <div className="sluice-head-subtitle">{subtitle}</div>}
    </PageSection>
  );
}
