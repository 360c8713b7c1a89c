import { describe, expect, test } from "vitest";
import { byLength } from "../length.ts";
import { Dice } from "../load/dice.ts";
import { PLACES } from "./fault.ts";
import { measure } from "./measure.ts";
import { isPossible } from "./outcomes.ts";
import { FAULTS } from "./table.ts";

/** In every run one fault of each place, the same ones until the seed is another: some 50 s. */
const SEED = 5;
const dice = new Dice(SEED);
const possible = FAULTS.filter(isPossible);
const some = PLACES.flatMap((place) => {
  const here = possible.filter((fault) => fault.place === place);
  return here.length === 0 ? [] : [dice.pick(here)];
});

describe("a fault", () => {
  test.each(byLength(some, possible).map((fault) => [fault.name, fault] as const))(
    "%s is told as the table says, loses no call, and repeats no effect",
    async (_name, fault) => {
      const { missing, lost, twice } = await measure(fault);
      expect({ missing, lost, twice }).toEqual({ missing: [], lost: 0, twice: 0 });
    },
  );
});
