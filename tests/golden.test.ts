import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { AnyObject, Node } from '../src/api/core.ts';
import { labels } from '../src/api/names.ts';
import type { ClusterOperator, ClusterVersion, NodeUpdate, UpdatePreflight } from '../src/api/resources.ts';
import { renderTable } from '../src/cli/output.ts';
import { reportView, wrapRows } from '../src/cli/preflight-report.ts';
import { clusterConcerns, recommendations } from '../src/cli/upgrade-recommend.ts';
import { recommendLines, targetLines } from '../src/cli/upgrade-recommend-view.ts';
import { refusalLines, standingRefusal } from '../src/cli/upgrade-refusal.ts';
import { updateReportLines } from '../src/cli/upgrade-report-view.ts';
import { updateStatus } from '../src/cli/upgrade-status.ts';
import { versionLines } from '../src/cli/upgrade-view.ts';
import { bundlesOf } from '../src/release/known.ts';
import type { UpdateReport } from '../src/update/report.ts';

/**
 * Recorded cluster objects in, text out: `golden/<case>/objects.yaml` (or `report.json`, what a completed update has
 * signed) and beside it a file for each command. With
 * GOLDEN=write the texts are written anew, to be read and committed.
 */
const root = join(import.meta.dirname, 'golden');
const now = Date.parse('2026-01-01T14:00:00Z');

for (const name of readdirSync(root)) {
  const report = join(root, name, 'report.json');
  if (existsSync(report)) {
    golden(name, 'report.txt', () =>
      updateReportLines(
        JSON.parse(readFileSync(report, 'utf8')) as UpdateReport,
        'cluster (0123456789abcdef)',
      ),
    );
    continue;
  }
  const objects = parseAllDocuments(readFileSync(join(root, name, 'objects.yaml'), 'utf8')).map(
    (document) => document.toJS() as AnyObject,
  );
  const all = <T>(kind: string) => objects.filter((each) => each.kind === kind) as unknown as T[];
  const [version] = all<ClusterVersion>('ClusterVersion');
  if (version !== undefined) {
    const seen = {
      version,
      operators: all<ClusterOperator>('ClusterOperator'),
      nodes: all<Node>('Node'),
      updates: all<NodeUpdate>('NodeUpdate'),
    };
    golden(name, 'status.txt', () => [...versionLines(version, now), '', ...updateStatus(seen, now)]);
    golden(name, 'status-all.txt', () => updateStatus(seen, now, 'all'));
    golden(name, 'recommend.txt', () => {
      const facts = recommendFacts(seen, all<UpdatePreflight>('UpdatePreflight'));
      const cluster = clusterConcerns(facts);
      const found = recommendations(facts);
      const each = found.flatMap((target) => ['', '---', '', ...targetLines(cluster, target)]);
      return [...recommendLines(cluster, found), ...each];
    });
    const refusal = standingRefusal(version);
    if (refusal !== undefined) {
      golden(name, 'refusal-100.txt', () => refusalLines(refusal.to, refusal.message, 100));
    }
  }
  for (const report of all<UpdatePreflight>('UpdatePreflight')) {
    for (const [file, columns] of [
      ['preflight.txt', undefined],
      ['preflight-100.txt', 100],
    ] as const) {
      golden(name, file, () => {
        const view = reportView(report, now);
        const rows = wrapRows(view, columns).flat();
        const table = renderTable(view.columns, rows);
        return [view.heading, view.verdict.text, '', table, '', view.note ?? '', '', 'Next:', ...view.next];
      });
    }
  }
}

function recommendFacts(
  seen: { version: ClusterVersion; nodes: readonly Node[]; updates: readonly NodeUpdate[] },
  preflights: readonly UpdatePreflight[],
) {
  const controlPlane = seen.nodes.filter((node) => node.metadata.labels?.[labels.controlPlane] !== undefined);
  return {
    version: seen.version,
    bundles: bundlesOf(seen.updates),
    preflights,
    controlPlane: controlPlane.length,
    accepted: new Set<string>(),
    now,
  };
}

function golden(name: string, file: string, render: () => string[]): void {
  test(`${name}: ${file}`, () => {
    const path = join(root, name, file);
    const text = `${render().join('\n').trimEnd()}\n`;
    if (process.env.GOLDEN === 'write') writeFileSync(path, text);
    assert.ok(existsSync(path), `${path} is not there: GOLDEN=write makes it`);
    assert.equal(text, readFileSync(path, 'utf8'));
  });
}
