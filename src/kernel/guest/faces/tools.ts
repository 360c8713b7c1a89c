import { type FaceMaker, openFace } from "./face.ts";

/**
 * `await host.tools.call("add", { a: 1, b: 2 })`, or `host.tools.add({ a: 1, b: 2 })` if the name allows it: the other
 * tool's output. A failure is thrown as an exception with the error's code as `toolCode`.
 */
export const toolsFace: FaceMaker = (ask) => {
  const call = async (name: string, args: unknown = {}): Promise<unknown> => {
    const answer = (await ask("tools", "call", { name: `${name}`, arguments: args })) as ToolAnswer;
    if (answer.ok) return answer.output;
    throw new CalledToolError(`${name}`, answer);
  };
  return openFace((name) => (name === "call" ? call : (args?: unknown) => call(name, args)));
};

type ToolAnswer =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details?: object };

/** Thrown to a tool if the tool that it called failed. */
export class CalledToolError extends Error {
  override readonly name = "CalledToolError";
  readonly tool: string;
  /** The failed call's error code. */
  readonly toolCode: string;
  /** Details beyond the code, such as the person who refused. */
  declare readonly details?: object;

  constructor(tool: string, { code, message, details }: Extract<ToolAnswer, { readonly ok: false }>) {
    super(`tool "${tool}" failed: ${code}: ${message}`);
    this.tool = tool;
    this.toolCode = code;
    if (details !== undefined) this.details = details;
  }
}
