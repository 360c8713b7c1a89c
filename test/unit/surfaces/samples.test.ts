import { expect, test } from "vitest";
import { allows } from "../../../src/broker/policy.ts";
import { sampleCapabilities, samplePolicy } from "../../../src/surfaces/cli/samples.ts";

test("the samples' policy grants the exchange to one tool, and nothing else to anybody", () => {
  const subject = (tool: string) => ({ tool, tags: ["money"], tenant: "" });
  expect(allows(samplePolicy, subject("convert-currency"), "exchange")).toBe(true);
  expect(allows(samplePolicy, subject("convert-currency-2"), "exchange")).toBe(false);
  expect(allows(samplePolicy, subject("convert-currency"), "fetch")).toBe(false);
});

test("the rates there and back cancel each other", () => {
  const call = { callId: "c", tool: "t", signal: new AbortController().signal };
  const rate = sampleCapabilities[0]?.methods["rate"]?.handler;
  const there = rate?.({ from: "GBP", to: "JPY" }, call) as { rate: number };
  const back = rate?.({ from: "JPY", to: "GBP" }, call) as { rate: number };
  expect(there.rate).toBe(200);
  expect(there.rate * back.rate).toBeCloseTo(1);
  expect(() => rate?.({ from: "EUR", to: "XXX" }, call)).toThrow(RangeError);
});
