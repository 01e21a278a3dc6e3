import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/dynamic/components/Breadcrumb';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import { Title } from '@patternfly/react-core/dist/dynamic/components/Title';
import { type ReactNode, useEffect } from 'react';
import { Link } from '../app/navigation.tsx';
import type { Route } from '../app/route.ts';
import { words } from '../words/english.ts';

/** The head of a page: the way back, its name, which is also the title of the tab, one sentence, and its buttons. */
export function PageHead({
  title,
  within,
  subtitle,
  actions,
}: {
  readonly title: string;
  /** The page that it is a part of, and its own name there. */
  readonly within?: { readonly to: Route; readonly text: string; readonly name: string };
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · ${words.product}`;
  }, [title]);
  return (
    <PageSection className="sluice-head" hasBodyWrapper={false}>
      {within === undefined ? null : (
        <Breadcrumb>
          <BreadcrumbItem>
            <Link to={within.to}>{within.text}</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{within.name}</BreadcrumbItem>
        </Breadcrumb>
      )}
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

/** The main statement of a page: one sentence that says how things stand. */
export function Statement({ children }: { readonly children: ReactNode }) {
  return (
    <p className="sluice-statement" data-statement>
      {children}
    </p>
  );
}
