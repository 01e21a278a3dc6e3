import { Alert, AlertActionLink } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { Component, type ReactNode } from 'react';
import { words } from '../words/english.ts';

/** Keeps a defect of one page from taking the whole console with it. */
export class Guard extends Component<{ readonly children: ReactNode }, { readonly message?: string }> {
  override state: { readonly message?: string } = {};

  static getDerivedStateFromError(error: unknown): { message: string } {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { message } = this.state;
    if (message === undefined) return this.props.children;
    return (
      <Alert
        isInline
        variant="danger"
        title={words.shell.defect}
        component="h1"
        actionLinks={
          <AlertActionLink onClick={() => location.reload()}>{words.shell.reload}</AlertActionLink>
        }
      >
        <p>{message}</p>
        <p>{words.shell.defectNext}</p>
      </Alert>
    );
  }
}
