/** What a binary answered: how it ended, and all that it wrote. */
export interface BinaryRun {
  /** `null` where it was ended from outside, or trapped: `ended` then says why. */
  readonly exitCode: number | null;
  readonly ended: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The output file's text; `null` where it wrote none. */
  readonly output: string | null;
}

/** What binaries answer to any command: nothing is run for it. */
const COMMAND_ANSWER = { status: "unsupported", message: "binary tools have no commands" };
const SHOWN_MAX = 1_000;

/** Why a binary's answer is none. */
class BinaryToolError extends Error {
  override readonly name = "BinaryToolError";
}

/**
 * A binary as the module that AgentSpace's documents describe: its first argument is JSON with `tool_id`, `tool_data`, `mode` and
 * `input`, its second the file into which it writes its answer. `run` starts it with the first.
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

/** What it wrote into its file; errors may be there, in stdout and in stderr. */
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
    return JSON.parse(output) as unknown;
  } catch {
    throw new BinaryToolError(`the binary's output file is not JSON${why}`);
  }
}
