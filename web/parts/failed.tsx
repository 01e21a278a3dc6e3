import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import type { ActFailure } from '../data/use-act.ts';
import { words } from '../words/english.ts';

/** Says that an action was not carried out, why, and what to do. */
export function Failed({ failure }: { readonly failure: ActFailure | undefined }) {
  if (failure === undefined) return null;
  return (
    <Alert isInline isLiveRegion variant="danger" title={words.action.failed} component="p" data-failed>
      <p className="sluice-said">{failure.message}</p>
      {failure.next === '' ? null : (
        <p>
          {words.action.next} {failure.next}
        </p>
      )}
    </Alert>
  );
}
