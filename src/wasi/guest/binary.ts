import { parseWithBigInts } from "../../kernel/base/exact-json.ts";

/** Result of running a binary: exit status and all of its output. */
export interface BinaryRun {
  /** `null` if the binary trapped or was ended from outside; `ended` then gives the reason. */
  readonly exitCode: number | null;
  readonly ended: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Text of the output file; `null` if the binary wrote none. */
  readonly output: string | null;
}

/** Response of every binary tool to any command: the binary is not run for it. */
const COMMAND_ANSWER = { status: "unsupported", message: "binary tools have no commands" };
const SHOWN_MAX = 1_000;

/** A binary that failed, or that gave no valid output. */
class BinaryToolError extends Error {
  override readonly name = "BinaryToolError";
}

/**
 * A binary as the module that AgentSpace's documents describe: its first argument is JSON with `tool_id`, `tool_data`,
 * `mode` and `input`, its second the file to which it writes its output. `run` starts it with the first.
 */
export function binaryExports(run: (argument: string) => BinaryRun | Promise<BinaryRun>): object {
  class AgentSpaceV1Tool {
    readonly #id: unknown;
    readonly #data: unknown;

    constructor(id: unknown, data: unknown) {
      this.#id = id;
      this.#data = data;
    }

    execute(input: unknown): unknown {
      const argument = { tool_id: this.#id, tool_data: this.#data, mode: "input", input };
      const ran = run(JSON.stringify(argument));
      return ran instanceof Promise ? ran.then(answerOf) : answerOf(ran);
    }

    execute_command(): unknown {
      return { ...COMMAND_ANSWER };
    }
  }
  return { AgentSpaceV1Tool };
}

/** The value of the output file. Errors may be reported in that file, in stdout or in stderr. */
function answerOf({ exitCode, ended, stdout, stderr, output }: BinaryRun): unknown {
  const said = [
    ["stderr", stderr],
    ["stdout", stdout],
    ["its output file", output ?? ""],
  ].flatMap(([where, text = ""]) => (text.trim() === "" ? [] : [`${where}: ${text.trim().slice(0, SHOWN_MAX)}`]));
  const why = said.length === 0 ? ", and said nothing" : `: ${said.join("; ")}`;
  if (exitCode !== 0) {
    const how = ended ?? `ended with exit code ${exitCode}`;
    throw new BinaryToolError(`the binary ${how}${why}`);
  }
  if (output === null) throw new BinaryToolError(`the binary wrote no output file${why}`);
  try {
    return parseWithBigInts(output);
  } catch {
    throw new BinaryToolError(`the binary's output file is not JSON${why}`);
  }
}
