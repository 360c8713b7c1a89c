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

/** Characters that YAML does not allow in a quoted text as they are, beyond those that JSON escapes. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u007f-\u00a0\u00ad\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/g;

/** JSON that is also YAML in one line. */
function flow(value: JsonValue): string {
  const json = JSON.stringify(value);
  return json.replace(UNPRINTABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * A part of the configuration file: `value` at `path`, whose last name is `-` where the value is a new item of a list.
 * Names are settings of ours; the value may hold texts of a tool.
 */
export function configRemedy(path: readonly string[], value: JsonValue): Remedy {
  const lines = path.map((name, depth) => `${"  ".repeat(depth)}${name === "-" ? "-" : `${name}:`}`);
  return { kind: "config", pointer: `/${path.join("/")}`, yaml: `${lines.join("\n")} ${flow(value)}\n`, json: value };
}

/** A part of the tool's definition: `value` as the member `name`. */
export function toolRemedy(name: string, value: JsonValue): Remedy {
  return { kind: "tool", pointer: `/${name}`, ts: `${name}: ${flow(value)},` };
}
