import { expect, test } from "vitest";
import { Grants } from "../../src/kernel/broker/grants.ts";
import { asCapability } from "../../src/kernel/broker/capabilities/custom.ts";
import { sampleCapabilities, samplePolicy } from "../../src/cli/samples.ts";

test("the samples' policy grants the exchange to one tool, and nothing else to anybody", () => {
  const capabilities = new Map(sampleCapabilities.map((capability) => [capability.name, asCapability(capability)]));
  const grants = new Grants(capabilities, samplePolicy);
  const requested = { exchange: true, env: ["PATH"] };
  const isGranted = (tool: string, capability: string) =>
    grants.decide(
      { tool, registrant: "operator", digest: "", tags: ["money"], tenant: "", requested, narrowed: undefined },
      capability,
    ).isGranted;
  expect(isGranted("convert-currency", "exchange")).toBe(true);
  expect(isGranted("convert-currency-2", "exchange")).toBe(false);
  expect(isGranted("convert-currency", "env")).toBe(false);
});

test("the rates there and back cancel each other", () => {
  const call = {
    callId: "c",
    tool: "t",
    signal: new AbortController().signal,
    progress: () => undefined,
    redact: String,
    once: "c/1",
  };
  const rate = sampleCapabilities[0]?.methods["rate"]?.handler;
  const there = rate?.({ from: "GBP", to: "JPY" }, call) as { rate: number };
  const back = rate?.({ from: "JPY", to: "GBP" }, call) as { rate: number };
  expect(there.rate).toBe(200);
  expect(there.rate * back.rate).toBeCloseTo(1);
  expect(() => rate?.({ from: "EUR", to: "XXX" }, call)).toThrow(RangeError);
});
