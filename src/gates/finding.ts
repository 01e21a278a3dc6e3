/**
 * What a gate or a check found. Built-in gates and the checks of a target release answer in the same shape, so
 * that one report and one rule of judgement serve both.
 */
export type Severity = 'blocking' | 'warning' | 'info';

/** Risk: it ran and found something. Error: it could not find out. Running: it does not know yet. */
export type FindingResult = 'Passed' | 'Risk' | 'Error' | 'Skipped' | 'Running';

export interface Finding {
  /** CamelCase, stable: people accept a risk by it, scripts read it (`^[A-Z][A-Za-z0-9.-]*$`). */
  readonly name: string;
  readonly gate: string;
  readonly severity: Severity;
  readonly result: FindingResult;
  readonly message: string;
  /** What to do about it. */
  readonly next?: string;
  /** The component of the target release whose check it is; absent for built-in gates. */
  readonly component?: string;
  readonly objects?: readonly string[];
}

/** By whose word a finding may pass that is not mended: of a person who takes its name (force too), of force alone, of nobody. */
export type WayThrough = 'acceptance' | 'force' | 'none';

/** The finding about the signature that the cluster's own release keys demand. */
export const openPGPFinding = 'ReleaseOpenPGPSignature';

/** About the integrity of content, and about who made it. */
const narrowWays: ReadonlyMap<string, WayThrough> = new Map([
  ['ReleaseSignature', 'none'],
  ['ReleaseContent', 'none'],
  [openPGPFinding, 'force'],
]);

/** A check of a release cannot claim the name of a built-in finding, and is always a matter of judgement. */
export function wayThrough(finding: Pick<Finding, 'name' | 'component'>): WayThrough {
  return (finding.component === undefined ? narrowWays.get(finding.name) : undefined) ?? 'acceptance';
}

/** About the way between two releases. */
const wayFindings: ReadonlySet<string> = new Set([
  'UpdatePath',
  'ClusterVersionRollback',
  'ClusterVersionUpdating',
]);

/**
 * Whether accepting it is offered to whoever knows it to be harmless. From where a release may be reached is not
 * harmless to pass over: whoever means it can type it.
 */
export function mayBeHarmless(finding: Pick<Finding, 'name' | 'component'>): boolean {
  if (wayThrough(finding) !== 'acceptance') return false;
  return finding.component !== undefined || !wayFindings.has(finding.name);
}

export interface Judgement {
  /** What stands against going on. Empty: go. */
  readonly blocking: readonly Finding[];
  /** What would have blocked and was accepted by name. */
  readonly accepted: readonly Finding[];
  /** What would have blocked and was forced. */
  readonly forced: readonly Finding[];
  /** Risks that do not block. */
  readonly warnings: readonly Finding[];
}

export interface JudgementRule {
  /** Names of accepted risks. A name accepts a Risk, never an Error: what could not be looked at is not known. */
  readonly accepted: ReadonlySet<string>;
  readonly force: boolean;
}

/** The one rule: what of the findings blocks, and by whose word the rest passes. */
export function judge(findings: readonly Finding[], rule: JudgementRule): Judgement {
  const blocking: Finding[] = [];
  const accepted: Finding[] = [];
  const forced: Finding[] = [];
  const warnings: Finding[] = [];
  for (const finding of findings) {
    if (finding.result === 'Passed' || finding.result === 'Skipped') continue;
    if (finding.severity !== 'blocking') {
      if (finding.result !== 'Running') warnings.push(finding);
    } else if (isAccepted(finding, rule.accepted)) accepted.push(finding);
    else if (rule.force && wayThrough(finding) !== 'none') forced.push(finding);
    else blocking.push(finding);
  }
  return { blocking, accepted, forced, warnings };
}

/** Whether the name of a finding, being accepted, lets it pass. */
export function isAccepted(finding: Finding, accepted: ReadonlySet<string>): boolean {
  return finding.result === 'Risk' && wayThrough(finding) === 'acceptance' && accepted.has(finding.name);
}

/** A name as findings must have it, from any words: 'node-1.example' → 'Node-1.example'. */
export function findingName(text: string): string {
  const plain = text.replace(/[^A-Za-z0-9.-]+/g, '');
  const start = /^[A-Za-z]/.test(plain) ? plain : `Check${plain}`;
  return start.charAt(0).toUpperCase() + start.slice(1);
}

export function isFindingName(text: string): boolean {
  return text.length <= findingNameCharsMax && /^[A-Z][A-Za-z0-9.-]*$/.test(text);
}

export const findingNameCharsMax = 256;
