import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Policy } from "../kernel/broker/policy.ts";
import { defineCapability } from "../kernel/broker/capabilities/custom.ts";
import type { CustomCapability } from "../kernel/broker/capabilities/custom-types.ts";

/** Host side of the sample tools: their folder, capability and grants. Commands use it if no other folder is named. */

const FOLDER = fileURLToPath(new URL("../../fixtures/tools", import.meta.url));

/** Folder of the sample tools; `undefined` if the package was installed without them. */
export function sampleTools(): string | undefined {
  return existsSync(FOLDER) ? FOLDER : undefined;
}

/** Exchange rates of one euro on a fixed day, so that the demonstration needs no network. */
const DATE = "2026-01-02";
const PER_EURO: ReadonlyMap<string, number> = new Map([
  ["EUR", 1],
  ["USD", 1.25],
  ["GBP", 0.8],
  ["CHF", 0.95],
  ["JPY", 160],
]);

const CURRENCY = { enum: [...PER_EURO.keys()] };

/** The capability `exchange`: the tool `convert-currency` requests the rate between two currencies. */
export const sampleCapabilities: readonly CustomCapability[] = [
  defineCapability({
    name: "exchange",
    methods: {
      rate: {
        input: {
          type: "object",
          properties: { from: CURRENCY, to: CURRENCY },
          required: ["from", "to"],
          additionalProperties: false,
        },
        output: {
          type: "object",
          properties: { rate: { type: "number", exclusiveMinimum: 0 }, date: { type: "string" } },
          required: ["rate", "date"],
          additionalProperties: false,
        },
        handler: ({ from, to }: { from: string; to: string }) => ({ rate: perEuro(to) / perEuro(from), date: DATE }),
      },
    },
  }),
];

/** Grants `exchange` to the one tool that needs it. */
export const samplePolicy: Policy = { rules: [{ tools: ["convert-currency"], allow: { exchange: true } }] };

function perEuro(currency: string): number {
  const rate = PER_EURO.get(currency);
  if (rate === undefined) throw new RangeError(`there is no rate for ${currency}`);
  return rate;
}
