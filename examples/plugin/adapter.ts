import type { ContractAdapter } from "glovebox";

/** A module of the contract: `export const recipe = { title, takes, cook }`. */
interface Recipe {
  readonly title: string;
  readonly takes: readonly string[];
  cook(amounts: unknown, host: unknown): unknown;
}

/** Runs inside isolates, beside the tools. It imports types alone. */
export const adapter: ContractAdapter = {
  name: "recipes",
  isDistinctive: true,
  matches: ({ recipe }) => typeof recipe === "object" && recipe !== null,
  describe: ({ recipe }) => {
    const { title, takes } = recipe as Recipe;
    return { title, takes };
  },
  open:
    ({ recipe }) =>
    (amounts, { host }) =>
      (recipe as Recipe).cook(amounts, host),
};
