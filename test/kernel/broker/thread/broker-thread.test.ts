import { describe } from "vitest";
import { testBroker } from "./suite.ts";

describe("the broker thread", () => {
  testBroker("thread");
});
