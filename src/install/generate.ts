import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { renderCrds } from '../api/crds.ts';
import { shippedText } from '../program/files.ts';
import { crdFile } from './manifests.ts';
import { renderForKubernetes, renderForOpenShift, sharedFiles } from './render.ts';

const note = (from: string) => `# Generated from ${from} by \`npm run generate\`: change that, not this.\n`;

/** The files of deploy/ that follow from others, by their path from the root of the repository. */
export function generatedFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const file of sharedFiles) {
    const [from, text] = [note(`deploy/standalone/${file}`), shippedText(`deploy/standalone/${file}`)];
    files.set(`deploy/kubernetes/${file}`, `${from}${renderForKubernetes(text)}`);
    files.set(`deploy/openshift/${file}`, `${from}${renderForOpenShift(text)}`);
  }
  for (const platform of ['kubernetes', 'openshift'] as const) {
    const crds = renderCrds(platform).map((crd) => stringify(crd, { lineWidth: 118, indentSeq: false }));
    files.set(`deploy/${platform}/${crdFile}`, `${note('crds/')}${crds.join('---\n')}`);
  }
  return files;
}

if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of generatedFiles()) writeFileSync(file, text);
}
