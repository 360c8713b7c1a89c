import type { Engine } from "../../engine/engine.ts";
import type { ToolResult } from "../../base/result.ts";
import type { ToolInfo } from "../../tool/definition.ts";
import { type Check, error, info, pass, warning } from "./check.ts";
import { sampleArguments } from "./sample.ts";
import { checkStrandsAnswer } from "./strands.ts";

const LIMITS = { wallMs: 5_000 };
const MESSAGE_MAX = 300;

/**
 * Calls a tool with input that fits its schema and with none at all, in an isolate and without any capability, and says
 * how it behaves. Where its contract has failures returned and not thrown, a tool that throws is in error.
 */
export async function checkBehaviour(
  engine: Engine,
  { name, inputSchema, contract }: ToolInfo,
): Promise<readonly Check[]> {
  const call = (args: Record<string, unknown>) => engine.execute({ name, arguments: args }, { limits: LIMITS });
  const fitting = await call(sampleArguments(inputSchema));
  const empty = await call({});
  return [
    ...(contract === "amplifier" ? checkLogs(fitting) : []),
    ...(contract === "strands" ? checkStrandsAnswer(fitting) : []),
    judge(fitting, contract, "input that fits"),
    judge(empty, contract, "no input"),
  ];
}

function judge({ success, error: failure }: ToolResult, contract: ToolInfo["contract"], given: string): Check {
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
      return info(about, `given ${given}, asks for what it is not granted here: ${message}`);
    case "tool_error":
      if (!isThrown(failure.details)) return pass(about, `given ${given}, answers with a failure: ${message}`);
      return judgeThrown(contract, about, `given ${given}, throws: ${message}`);
    default:
      return error(about, `given ${given}, ends with ${failure.code}: ${message}`);
  }
}

/** Some contracts have failures returned: in one a tool must not throw, in another it should not. */
function judgeThrown(contract: ToolInfo["contract"], about: string, thrown: string): Check {
  switch (contract) {
    case "amplifier":
      return error(about, `${thrown}; it must return { success: false, error: { message, type } }`);
    case "strands":
      return warning(about, `${thrown}; catch it and return { status: "error", content: [{ text }] }`);
    default:
      return info(about, thrown);
  }
}

/** What is thrown has a stack; what is returned has what the tool says. */
function isThrown(details: unknown): boolean {
  return typeof details === "object" && details !== null && Object.hasOwn(details, "stack");
}

function checkLogs({ success, metadata: { logs, attempts } }: ToolResult): readonly Check[] {
  if (attempts === 0) return [];
  if (logs.length === 0)
    return [warning("logs", "there are none; say with console.info or console.debug what is done")];
  const loud = success && logs.some(({ level }) => level === "error");
  return [loud ? warning("logs", "an error is logged though nothing failed") : pass("logs", "are written")];
}
