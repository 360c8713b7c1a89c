import { GloveboxError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";

/**
 * Throws for a tool that is code of the embedder's program: of `defineTool` or another library, a list or a record of
 * them, or a server. Such code cannot be moved into an isolate, so definitions name its module instead.
 */
export function refuseLiveTool(given: unknown): void {
  const inside: readonly unknown[] = isObject(given) || Array.isArray(given) ? Object.values(given) : [];
  if (typeof given !== "function" && ![given, ...inside].some(hasCode)) return;
  const own: unknown = isObject(given) ? (given["name"] ?? given["id"]) : undefined;
  const named = typeof own === "string" ? `tool "${own.slice(0, 128)}"` : "the tool";
  throw new GloveboxError(
    "load_error",
    `${named} is an object of this program, whose code cannot move into an isolate; export it from a module of its own, ` +
      'and name that: engine.register("./my-tools.ts"), or tools: ["./my-tools.ts"] in the options',
  );
}

function hasCode(value: unknown): boolean {
  return isObject(value) && ["execute", "invoke", "run", "connect"].some((name) => typeof value[name] === "function");
}
