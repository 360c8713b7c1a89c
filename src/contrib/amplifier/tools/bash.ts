import {
  type Config,
  type Coordinator,
  described,
  failed,
  maxOutputOf,
  texts,
  type ToolResult,
  wholeNumber,
} from "./parts/amplifier.ts";
import type { Context } from "./parts/host.ts";

/**
 * Shell commands, each in a sandbox of its own; a policy must allow `exec`, and determines which folders commands see.
 * Config: `timeout` (seconds, default 30), `blocked_commands` (default `["rm -rf /"]`), `max_output` (characters,
 * default 50,000). Blocked commands are matched as text, which is easy to evade: they only stop mistakes; the sandbox
 * is the security boundary.
 */
export const spec = {
  tags: ["commands"],
  capabilities: { exec: true },
  // The command's own timeout ends it first.
  limits: { wallMs: 600_000, outputBytes: 16 * 1024 * 1024, capabilityBytes: 32 * 1024 * 1024, cpuMs: 5_000 },
};

export async function mount(coordinator: Coordinator, config: Config): Promise<void> {
  const tool = new BashTool(config);
  await coordinator.mount("tools", tool, { name: tool.name });
}

class BashTool {
  readonly name = "bash";
  readonly description = "Execute shell commands";
  readonly input_schema: object;
  readonly max_output_chars: number;
  readonly #timeout: number;
  readonly #blocked: readonly string[];

  constructor(config: Config) {
    this.#timeout = wholeNumber(config, "timeout", 30);
    this.#blocked = texts(config, "blocked_commands", ["rm -rf /"]);
    this.max_output_chars = maxOutputOf(config);
    this.input_schema = {
      type: "object",
      properties: {
        command: { type: "string", description: "Command to execute" },
        timeout: { type: "integer", default: this.#timeout },
      },
      required: ["command"],
    };
  }

  async execute(
    input: { readonly command: string; readonly timeout?: number },
    { host }: Context,
  ): Promise<ToolResult> {
    const { command, timeout = this.#timeout } = input;
    const blocked = this.#blocked.find((pattern) => command.includes(pattern));
    if (blocked !== undefined) return failed("SecurityError", `Blocked command pattern: ${blocked}`);
    if (timeout <= 0) return timedOut(timeout);
    try {
      const ended = await host.exec.run({ command, timeoutMs: timeout * 1000 });
      if (ended.timedOut) return { ...timedOut(ended.timeoutMs / 1000), ...partial(ended.stdout) };
      const { stdout, stderr, exitCode, excess } = ended;
      if (exitCode === null) {
        return { ...failed("ResourceLimitError", `Command was ended: too much ${excess}`), ...partial(stdout) };
      }
      if (exitCode !== 0) return { ...failed("CommandFailed", stderr, { exit_code: exitCode }), output: stdout };
      const metadata = { exit_code: 0, ...(ended.truncated ? { output_is_beginning: true } : {}) };
      return { success: true, output: stdout + (stderr === "" ? "" : `\nstderr: ${stderr}`), metadata };
    } catch (error) {
      const { type, message } = described(error);
      return failed(type, message);
    }
  }
}

function timedOut(seconds: number): ToolResult {
  return failed("TimeoutError", `Command timed out after ${seconds}s`);
}

/** Output of a command before it was ended. */
function partial(stdout: string): { readonly output?: string } {
  return stdout === "" ? {} : { output: stdout };
}
