import type { Engine } from "../../kernel/engine/engine.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import { type Check, error, info, languageOf, pass, warning } from "./check.ts";
import { sampleArguments } from "./sample.ts";
import { checkStrandsAnswer } from "./strands.ts";

/** A busy machine takes seconds to start an interpreter of Python. */
const LIMITS = { wallMs: 20_000 };
const MESSAGE_MAX = 300;
/** Advice on failures and logs of an Amplifier tool, by language. */
const ADVICE = {
  javascript: { failure: "{ success: false, error: { message, type } }", log: "console.info or console.debug" },
  python: { failure: 'ToolResult(success=False, error={"message": …, "type": …})', log: "print or logging" },
} as const;

/**
 * Calls a tool in an isolate, without capabilities, with valid and with empty input, and reports its behaviour.
 * Throwing is an error if the contract requires returned failures.
 */
export async function checkBehaviour(
  engine: Engine,
  { name, inputSchema, contract, runtime }: ToolInfo,
): Promise<readonly Check[]> {
  const call = (args: Record<string, unknown>) => engine.execute({ name, arguments: args }, { limits: LIMITS });
  const fitting = await call(sampleArguments(inputSchema));
  const empty = await call({});
  return [
    ...(contract === "amplifier" ? checkLogs(fitting, ADVICE[languageOf(runtime)].log) : []),
    ...(contract === "strands" ? checkStrandsAnswer(fitting) : []),
    judge(fitting, { contract, runtime }, "input that fits"),
    judge(empty, { contract, runtime }, "no input"),
  ];
}

type Written = Pick<ToolInfo, "contract" | "runtime">;

function judge({ success, error: failure }: ToolResult, written: Written, given: string): Check {
  const about = "execute";
  if (success || failure === null) return pass(about, `given ${given}, answers with a result`);
  const message = `${failure.type}: ${failure.message.slice(0, MESSAGE_MAX)}`;
  switch (failure.code) {
    case "invalid_arguments":
      return given === "no input"
        ? pass(about, `given ${given}, is not called: the schema refuses it`)
        : info(about, `given ${given}, was not tried: no sample fits the schema`);
    case "capability_denied":
    case "capability_failed":
    case "login_required":
      return info(about, `given ${given}, asks for what it is not granted here: ${message}`);
    case "tool_error":
      if (!isThrown(failure.details)) return pass(about, `given ${given}, answers with a failure: ${message}`);
      return judgeThrown(written, about, `given ${given}, throws: ${message}`);
    default:
      return error(about, `given ${given}, ends with ${failure.code}: ${message}`);
  }
}

/** Contracts differ: Amplifier tools must not throw, Strands tools should not. */
function judgeThrown({ contract, runtime }: Written, about: string, thrown: string): Check {
  switch (contract) {
    case "amplifier":
      return error(about, `${thrown}; it must return ${ADVICE[languageOf(runtime)].failure}`);
    case "strands":
      return warning(about, `${thrown}; catch it and return { status: "error", content: [{ text }] }`);
    default:
      return info(about, thrown);
  }
}

/** Thrown errors have a stack in their details; returned failures have the tool's own. */
function isThrown(details: unknown): boolean {
  return typeof details === "object" && details !== null && Object.hasOwn(details, "stack");
}

function checkLogs({ success, metadata: { logs, attempts } }: ToolResult, advice: string): readonly Check[] {
  if (attempts === 0) return [];
  if (logs.length === 0) return [warning("logs", `the call logs nothing; describe its progress with ${advice}`)];
  const loud = success && logs.some(({ level }) => level === "error");
  return [loud ? warning("logs", "an error is logged though nothing failed") : pass("logs", "are written")];
}
