import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mcp } from "../../../src/standard/contracts.ts";
import { forModels } from "../../../src/kernel/base/result.ts";
import { type Engine, createEngine, type ToolResult } from "../../../src/glovebox/index.ts";
import { CASES, CONFIG } from "./cases.mjs";

/** A case as the library itself answers it, in Node. */
interface Reference {
  readonly library: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly answer: {
    readonly output?: unknown;
    readonly artifact?: unknown;
    readonly told?: number;
    readonly error?: string;
  };
}

/** Modules of a library's documentation answer in an engine as they do in the library, which is installed beside them. */
export function goldenTools(library: string, place: () => string): void {
  describe(`tools of ${library}, as its documentation writes them`, () => {
    const cases = CASES.filter(([of]) => of === library);
    let engine: Engine;
    let references: readonly Reference[];
    /** Why they do not load; `null` if they do. */
    let refusal: string | null = null;

    beforeAll(async () => {
      engine = await createEngine({ workers: 1, executor: "threads" });
      const file = join(place(), `${library}.mjs`);
      refusal = await engine.register({ path: file, config: CONFIG }).then(
        () => null,
        (error: Error) => error.message,
      );
      references = await answersOf(library, place());
    });
    afterAll(() => engine.close());

    test.for(cases.map(([, tool, args], at) => [at, tool, args] as const))(
      "case %i: %s %j",
      async ([at, tool, args]) => {
        expect(refusal).toBe(null);
        const result = await engine.execute({ name: tool, arguments: args });
        expect(shownAs(references[at]?.answer, result)).toEqual(references[at]?.answer);
      },
    );
  });
}

async function answersOf(library: string, folder: string): Promise<readonly Reference[]> {
  const program = join(folder, "reference.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", program, library]);
  return JSON.parse(stdout) as readonly Reference[];
}

/** A result in the terms of a reference. Arguments that a schema refuses are refused in other words. */
function shownAs(expected: Reference["answer"] | undefined, result: ToolResult): Reference["answer"] {
  const { output, error, metadata } = result;
  if (error !== null) {
    const isInWords = ["tool_error", "invalid_output"].includes(error.code) && !error.message.includes("not available");
    return { error: isInWords ? error.message : (expected?.error ?? `${error.code}: ${error.message}`) };
  }
  const blocks = metadata["modelOutput"] === undefined ? undefined : mcp.writeResult(forModels(result)).content.length;
  return {
    output,
    ...(metadata["artifact"] === undefined ? {} : { artifact: metadata["artifact"] }),
    ...(blocks === undefined ? {} : { told: blocks }),
  };
}
