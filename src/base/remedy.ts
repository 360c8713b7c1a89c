import type { JsonValue } from "./json.ts";

/**
 * A change that makes a failed call succeed, as text that can be pasted. `config`: a part of the configuration file, at
 * the JSON pointer `pointer`, as YAML and as JSON. `tool`: a part of the tool's own definition, as TypeScript.
 * `command`: a shell command.
 */
export type Remedy =
  | { readonly kind: "config"; readonly pointer: string; readonly yaml: string; readonly json: JsonValue }
  | { readonly kind: "tool"; readonly pointer: string; readonly ts: string }
  | { readonly kind: "command"; readonly command: string };
