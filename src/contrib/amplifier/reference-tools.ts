import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** Names of the tools included with the engine. */
export type ReferenceTool = "filesystem" | "bash" | "web" | "echo" | "calculator" | "js_exec" | "python_exec";

/**
 * Path of a module included with the engine, for `engine.register`:
 *
 * - `filesystem`: `read_file`, `write_file`, `edit_file`, `list_directory`, in the mounts that its location requests
 *   (`capabilities: { fs: { data: { mode: "rw" } } }`); config `allowed_paths`, `max_size`, `max_output`.
 * - `bash`: shell commands, if a policy allows `exec`; config `timeout`, `blocked_commands`, `max_output`.
 * - `web`: `web_fetch`, from the origins that a policy allows; config `timeout`, `max_size`, `max_output`.
 * - `echo`, `calculator`, `js_exec`: no requirements; `python_exec`: requires Python.
 */
export function referenceTool(name: ReferenceTool): string {
  // In the built package, modules are JavaScript, as this one is; Python files keep their extension.
  const extension = name === "python_exec" ? ".py" : extname(import.meta.url);
  return fileURLToPath(new URL(`./tools/${name}${extension}`, import.meta.url));
}
