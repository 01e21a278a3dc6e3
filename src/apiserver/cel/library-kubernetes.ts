import semver from 'semver';
import { formatProblems, namedFormats } from './formats.ts';
import { type Library, library } from './library.ts';
import { nanosPerUnit, parseQuantity, type Quantity } from './quantity.ts';
import { CelError, CelList, type CelValue, Opaque, Optional } from './values.ts';

/** Kubernetes' quantity, format and semver libraries (apiserver, cel/library). */
class QuantityValue extends Opaque implements Quantity {
  override readonly typeName = 'kubernetes.Quantity';
  readonly nanos: bigint;
  readonly integer: bigint | undefined;

  constructor({ nanos, integer }: Quantity) {
    super();
    this.nanos = nanos;
    this.integer = integer;
  }

  override equals(other: Opaque): boolean {
    return other instanceof QuantityValue && other.nanos === this.nanos;
  }

  plus(nanos: bigint, integer: bigint | undefined): QuantityValue {
    const whole = this.integer === undefined || integer === undefined ? undefined : this.integer + integer;
    return new QuantityValue({ nanos: this.nanos + nanos, integer: whole });
  }
}

class FormatValue extends Opaque {
  override readonly typeName = 'kubernetes.NamedFormat';
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }

  override equals(other: Opaque): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }
}

class SemverValue extends Opaque {
  override readonly typeName = 'kubernetes.Semver';
  readonly version: semver.SemVer;

  constructor(version: semver.SemVer) {
    super();
    this.version = version;
  }

  override equals(other: Opaque): boolean {
    return other instanceof SemverValue && other.version.compare(this.version) === 0;
  }
}

const sign = (value: bigint) => (value > 0n ? 1n : value < 0n ? -1n : 0n);

export const kubernetesLibrary: Library = library({
  'quantity(string): kubernetes.Quantity': (text: string) => quantity(text),
  'isQuantity(string): bool': (text: string) => parseQuantity(text) !== undefined,
  'sign(kubernetes.Quantity): int': ({ nanos }: QuantityValue) => sign(nanos),
  'kubernetes.Quantity.isInteger(): bool': (value: QuantityValue) => value.integer !== undefined,
  'kubernetes.Quantity.asInteger(): int': (value: QuantityValue) => {
    if (value.integer === undefined) throw new CelError('cannot convert value to integer');
    return value.integer;
  },
  'kubernetes.Quantity.asApproximateFloat(): double': ({ nanos }: QuantityValue) => Number(nanos) / 1e9,
  'kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity': (a: QuantityValue, b: QuantityValue) =>
    a.plus(b.nanos, b.integer),
  'kubernetes.Quantity.add(int): kubernetes.Quantity': (a: QuantityValue, b: bigint) =>
    a.plus(b * nanosPerUnit, b),
  'kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity': (a: QuantityValue, b: QuantityValue) =>
    a.plus(-b.nanos, b.integer === undefined ? undefined : -b.integer),
  'kubernetes.Quantity.sub(int): kubernetes.Quantity': (a: QuantityValue, b: bigint) =>
    a.plus(-b * nanosPerUnit, -b),
  'kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool': (a: QuantityValue, b: QuantityValue) =>
    a.nanos > b.nanos,
  'kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool': (a: QuantityValue, b: QuantityValue) =>
    a.nanos < b.nanos,
  'kubernetes.Quantity.compareTo(kubernetes.Quantity): int': (a: QuantityValue, b: QuantityValue) =>
    sign(a.nanos - b.nanos),

  'format.named(string): optional<kubernetes.NamedFormat>': (_format: CelValue, name: string) =>
    new Optional(Object.hasOwn(namedFormats, name) ? new FormatValue(name) : undefined),
  ...Object.fromEntries(
    Object.keys(namedFormats).map((name) => [
      `format.${name}(): kubernetes.NamedFormat`,
      () => new FormatValue(name),
    ]),
  ),
  'kubernetes.NamedFormat.validate(string): optional<list<string>>'(format: FormatValue, text: string) {
    this.budget.spendUnits(text.length);
    const problems = formatProblems(format.name, text);
    return new Optional(problems.length === 0 ? undefined : new CelList(problems));
  },

  'semver(string): kubernetes.Semver': (text: string) => version(text),
  'isSemver(string): bool': (text: string) => parseSemver(text) !== undefined,
  'kubernetes.Semver.major(): int': (value: SemverValue) => BigInt(value.version.major),
  'kubernetes.Semver.minor(): int': (value: SemverValue) => BigInt(value.version.minor),
  'kubernetes.Semver.patch(): int': (value: SemverValue) => BigInt(value.version.patch),
  'kubernetes.Semver.compareTo(kubernetes.Semver): int': (a: SemverValue, b: SemverValue) =>
    BigInt(a.version.compare(b.version)),
  'kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool': (a: SemverValue, b: SemverValue) =>
    a.version.compare(b.version) > 0,
  'kubernetes.Semver.isLessThan(kubernetes.Semver): bool': (a: SemverValue, b: SemverValue) =>
    a.version.compare(b.version) < 0,
});

function quantity(text: string): QuantityValue {
  const parsed = parseQuantity(text);
  if (parsed === undefined) {
    throw new CelError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return new QuantityValue(parsed);
}

/** Strict SemVer 2.0 without a leading `v`, as Kubernetes' library takes it. */
function parseSemver(text: string): semver.SemVer | undefined {
  return /^\d/.test(text) ? (semver.parse(text) ?? undefined) : undefined;
}

function version(text: string): SemverValue {
  const parsed = parseSemver(text);
  if (parsed === undefined) throw new CelError('No Major.Minor.Patch elements found');
  return new SemverValue(parsed);
}
