import { runInThisContext } from "node:vm";
import { compileChecks } from "../../../../src/kernel/base/schema/checks.ts";
import { createChecks } from "../../../../src/kernel/base/schema/check-runtime.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import type { ToolChecks } from "../../../../src/kernel/base/protocol/script.ts";
import type { Violation } from "../../../../src/kernel/base/schema/violation.ts";

/** The failure of a check. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly violations: readonly Violation[];
}

/** Runs the code of a tool's checks as an isolate does. Gives the refusal of a value, or `null`. */
export function openChecks({ input, output, outputAt }: ToolChecks): {
  readonly input: (value: unknown) => Refusal | null;
  readonly output: (value: unknown) => Refusal | null;
  /** What the check of an output returns for its JSON. */
  readonly outputText: (json: string) => string;
} {
  const evaluate = (code: string) => runInThisContext(`(${code || "null"})`) as Parameters<typeof createChecks>[1];
  const checks = createChecks(new Int32Array(1), evaluate(input), evaluate(output), outputAt);
  const read = (text: string) => (text === "" ? null : (JSON.parse(text) as Refusal));
  return {
    input: (value) => read(checks.input?.(value) ?? ""),
    output: (value) => read(checks.output?.(JSON.stringify(value)) ?? ""),
    outputText: (json) => checks.output?.(json) ?? "",
  };
}

/** The violations of a value, as a tool's input; `[]` if it is valid. Writes defaults into it. */
export function violationsOf(schema: JsonSchema, value: unknown): readonly Violation[] {
  return openChecks(compileChecks(schema, null)).input(value)?.violations ?? [];
}
