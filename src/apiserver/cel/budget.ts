/**
 * What foreign expressions may spend. A step is about one node evaluated, one regular-expression thread moved,
 * or 64 characters or elements copied; a million of them take some tens of milliseconds.
 */
export const expressionStepsMax = 1_000_000;

/** Steps of all expressions that judge one object (Kubernetes: RuntimeCELCostBudget). */
export const objectStepsMax = 4_000_000;

/** Largest string, in UTF-16 units, and largest list that an expression may make. */
export const stringUnitsMax = 4 * 1024 * 1024;
export const listItemsMax = 100_000;

const unitsPerStep = 64;

export class BudgetExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
    this.name = 'BudgetExceeded';
  }
}

/** Counts down; shared by all expressions of one request where the caller shares it. */
export class Budget {
  readonly #steps: number;
  #left: number;

  constructor(steps: number = expressionStepsMax) {
    this.#steps = steps;
    this.#left = steps;
  }

  /** @throws BudgetExceeded when nothing is left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceeded();
  }

  /** Spends for copying or scanning so many characters or elements. */
  spendUnits(units: number): void {
    this.spend(1 + Math.floor(units / unitsPerStep));
  }

  get spent(): number {
    return this.#steps - this.#left;
  }
}
