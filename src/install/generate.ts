import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { renderCrds } from '../api/crds.ts';
import { machineConfigGroup } from '../api/kinds.ts';
import { labels, partOf } from '../api/names.ts';
import { shippedText } from '../program/files.ts';
import { nodeUnit, unitsBesideOpenShift } from './host.ts';
import { crdFile } from './manifests.ts';
import {
  consoleForOpenShift,
  nodesForOpenShift,
  renderForKubernetes,
  renderForOpenShift,
  sharedFiles,
} from './render.ts';

const note = (from: string) => `# Generated from ${from} by \`npm run generate\`: change that, not this.\n`;

/** The files of deploy/ that follow from others, by their path from the root of the repository. */
export function generatedFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const file of sharedFiles) {
    const [from, text] = [note(`deploy/standalone/${file}`), shippedText(`deploy/standalone/${file}`)];
    files.set(`deploy/kubernetes/${file}`, `${from}${renderForKubernetes(text)}`);
    files.set(`deploy/openshift/${file}`, `${from}${renderForOpenShift(text)}`);
  }
  for (const file of nodeFiles) {
    const from = `deploy/kubernetes/${file}`;
    files.set(`deploy/openshift/${file}`, `${note(from)}${nodesForOpenShift(shippedText(from))}`);
  }
  const console = 'deploy/kubernetes/70-console.yaml';
  files.set(
    'deploy/openshift/70-console.yaml',
    `${note(console)}${consoleForOpenShift(shippedText(console))}`,
  );
  files.set('deploy/openshift/machine-config/units.yaml', unitsMachineConfig());
  for (const platform of ['kubernetes', 'openshift'] as const) {
    const crds = renderCrds(platform).map((crd) => stringify(crd, { lineWidth: 118, indentSeq: false }));
    files.set(`deploy/${platform}/${crdFile}`, `${note('crds/')}${crds.join('---\n')}`);
  }
  return files;
}

/** Files of deploy/kubernetes that OpenShift gets too. */
const nodeFiles = ['35-workers.yaml', '60-nodes.yaml'];

/** The units of control-plane nodes, as the machine-config operator puts them there (Ignition 3.4). */
function unitsMachineConfig(): string {
  const from = 'src/install/host.ts';
  const units = [...unitsBesideOpenShift()].map(([name, contents]) => ({
    name,
    // The registry's has an instance for each build of the program, which the installer enables.
    ...(name === nodeUnit ? { enabled: true } : {}),
    contents,
  }));
  const config = {
    apiVersion: `${machineConfigGroup}/v1`,
    kind: 'MachineConfig',
    metadata: {
      name: '99-master-sluice',
      labels: { [`${machineConfigGroup}/role`]: 'master', [labels.partOf]: partOf },
    },
    spec: {
      config: {
        ignition: { version: '3.4.0' },
        systemd: { units },
      },
    },
  };
  return `${note(from)}# Not needed, and applied on its own (docs/openshift.md): the machine-config operator drains and reboots each control-plane node.\n${stringify(config, { lineWidth: 0, indentSeq: false })}`;
}

if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of generatedFiles()) writeFileSync(file, text);
}
