import { describe } from "vitest";
import { CONTRACTS } from "../../../../src/standard/contracts.ts";
import { contractSuite, pairSuite } from "./suite.ts";

const contracts = [...CONTRACTS.values()];

for (const contract of contracts) contractSuite(contract);

describe("any contract in, any contract out", () => {
  for (const from of contracts) for (const to of contracts) pairSuite(from, to);
});
