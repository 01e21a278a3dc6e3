import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import type { ReactNode } from 'react';

/** A part of a page under its heading, by which tables in it are named too. */
export function Section({
  id,
  title,
  children,
}: {
  readonly id: string;
  readonly title: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Card component="section" aria-labelledby={id}>
      <CardTitle component="h2" id={id}>
        {title}
      </CardTitle>
      <CardBody className="sluice-stack-small">{children}</CardBody>
    </Card>
  );
}
