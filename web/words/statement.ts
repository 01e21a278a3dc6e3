import type { Situation } from '../data/facts.ts';
import { words } from './english.ts';

const said = words.overview;

/** How the cluster stands, in one sentence. */
export function statementOf(situation: Situation): string {
  switch (situation.kind) {
    case 'unknown':
      return said.unknownVersion;
    case 'installing':
      return said.installing(situation.to);
    case 'idle':
      return said.runs(situation.version);
    case 'asked':
      return situation.refused
        ? said.refused(situation.version, situation.to)
        : said.checking(situation.version, situation.to);
    case 'updating':
      return said.updating(situation.from, situation.to);
  }
}
