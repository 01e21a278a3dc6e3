import { EmptyState, EmptyStateBody } from '@patternfly/react-core/dist/dynamic/components/EmptyState';
import { Skeleton } from '@patternfly/react-core/dist/dynamic/components/Skeleton';
import BanIcon from '@patternfly/react-icons/dist/esm/icons/ban-icon';
import DisconnectedIcon from '@patternfly/react-icons/dist/esm/icons/disconnected-icon';
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon';
import type { ComponentType, ReactNode } from 'react';
import type { KubeObject } from '../../src/api/core.ts';
import type { Snapshot } from '../data/kind-store.ts';
import { words } from '../words/english.ts';

/** A page without its content, and why. */
export function Nothing({
  title,
  icon,
  children,
}: {
  readonly title: string;
  readonly icon: ComponentType;
  readonly children: ReactNode;
}) {
  return (
    <EmptyState titleText={title} headingLevel="h2" icon={icon} variant="sm">
      <EmptyStateBody>{children}</EmptyStateBody>
    </EmptyState>
  );
}

/**
 * Draws its children once all that they need is known; before, and where it cannot be had, says so.
 *
 * @param of snapshots by the name of their kind.
 * @param quiet where it cannot be had another part of the page says so.
 */
export function Known({
  of,
  quiet = false,
  children,
}: {
  readonly of: Readonly<Record<string, Snapshot<KubeObject>>>;
  readonly quiet?: boolean;
  readonly children: () => ReactNode;
}) {
  if (quiet && Object.values(of).some(({ listed }) => !listed)) return null;
  for (const [kind, { listed, phase, failure }] of Object.entries(of)) {
    const what = words.kinds[kind] ?? kind;
    if (phase === 'refused') {
      return (
        <Nothing title={words.state.refusedTitle(what)} icon={BanIcon}>
          {failure?.message} {words.state.refusedNext}
        </Nothing>
      );
    }
    if (phase === 'absent') {
      return (
        <Nothing title={words.state.absentTitle(what)} icon={QuestionCircleIcon}>
          {words.state.absentNext}
        </Nothing>
      );
    }
    if (!listed && phase === 'waiting') {
      return (
        <Nothing title={words.state.failedTitle(what)} icon={DisconnectedIcon}>
          {failure?.message} {words.state.failedNext}
        </Nothing>
      );
    }
  }
  if (Object.values(of).some(({ listed }) => !listed)) return <Loading />;
  return children();
}

export function Loading() {
  return (
    <div className="sluice-loading">
      <Skeleton screenreaderText={words.shell.loading} width="45%" />
      <Skeleton width="80%" />
      <Skeleton width="65%" />
    </div>
  );
}
