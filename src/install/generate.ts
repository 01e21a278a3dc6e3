import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { renderCrds } from '../api/crds.ts';
import { machineConfigGroup } from '../api/kinds.ts';
import { labels, partOf } from '../api/names.ts';
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
  files.set('deploy/openshift/machine-config/registry.yaml', registryMachineConfig());
  for (const platform of ['kubernetes', 'openshift'] as const) {
    const crds = renderCrds(platform).map((crd) => stringify(crd, { lineWidth: 118, indentSeq: false }));
    files.set(`deploy/${platform}/${crdFile}`, `${note('crds/')}${crds.join('---\n')}`);
  }
  return files;
}

/** The registry's unit for control-plane nodes, as the machine-config operator puts it there (Ignition 3.4). */
function registryMachineConfig(): string {
  const from = 'deploy/systemd/system/sluice-registry.service';
  // What an image-based system has below /usr is its own.
  const contents = shippedText(from).replaceAll('/usr/bin/sluice', '/usr/local/bin/sluice');
  const config = {
    apiVersion: `${machineConfigGroup}/v1`,
    kind: 'MachineConfig',
    metadata: {
      name: '99-master-sluice-registry',
      labels: { [`${machineConfigGroup}/role`]: 'master', [labels.partOf]: partOf },
    },
    spec: {
      config: {
        ignition: { version: '3.4.0' },
        systemd: { units: [{ name: 'sluice-registry.service', enabled: true, contents }] },
      },
    },
  };
  return `${note(from)}# Applied on its own (docs/openshift.md): the machine-config operator drains and reboots each control-plane node.\n${stringify(config, { lineWidth: 0, indentSeq: false })}`;
}

if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of generatedFiles()) writeFileSync(file, text);
}
