import { type Facts, situationOf } from '../../data/facts.ts';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { stepsOf } from '../overview/steps.ts';
import { Way } from '../overview/way.tsx';

/** An update that is under way: the step it is at, what it waits for and since when. */
export function Progress({ facts }: { readonly facts: Facts }) {
  const { kind } = situationOf(facts);
  if (kind !== 'updating' && kind !== 'installing') return null;
  return (
    <Section id="update-progress" title={words.update.progress}>
      <Way steps={stepsOf(facts)} />
    </Section>
  );
}
