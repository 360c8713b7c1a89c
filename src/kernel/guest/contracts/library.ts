import type { ToolFacts } from "../tool-context.ts";
import type { ToolFunction } from "./adapter.ts";

/** A tool of a library, before its schemas are described. */
export interface LibraryTool {
  readonly name: string | undefined;
  readonly description: string | undefined;
  /** Schemas in the library's form; `undefined` for none. */
  readonly input: unknown;
  readonly output?: unknown;
  /** Its answer is a `WrappedAnswer`. */
  readonly wraps?: boolean;
  readonly title?: string | undefined;
  /**
   * Which of its calls need a person's approval: `some` are those of which its own function says so, and which then ask
   * with the capability `pause`.
   */
  readonly asks?: "always" | "some" | undefined;
  /** A tool as an MCP server lists it, which says the rest. */
  readonly listed?: unknown;
}

/** A tool's answer that contains more than its output. */
export interface WrappedAnswer {
  readonly output: unknown;
  readonly metadata: { readonly [key: string]: unknown };
}

/** How tools of one library are recognised by their shape, described, and called in the library's way. */
export interface Library {
  /** The host's name of the library. */
  readonly name: string;
  matches(value: object): boolean;
  /** Its own name; `undefined` if the export or the key of a record names it. */
  nameOf(value: object): string | undefined;
  /** The reason why the tool cannot be called here; `undefined` if it can. */
  refusal(value: object): string | undefined | Promise<string | undefined>;
  /** The tool, or the tools of a server. */
  describe(value: object): LibraryTool | Promise<LibraryTool | readonly LibraryTool[]>;
  /** For a server, which alone knows the names of its tools: whether it has a tool of this name. */
  has?(value: object, name: string): Promise<boolean>;
  open(value: object, facts: ToolFacts): ToolFunction;
}
