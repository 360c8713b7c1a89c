import { type JsonValue, visibleJson } from "./json.ts";

/**
 * A change that makes a failed call succeed, as text that can be pasted. `config`: a part of the configuration file, at
 * the JSON pointer `pointer`, as YAML and as JSON. `tool`: a part of the tool's own definition, as TypeScript.
 * `command`: a shell command.
 */
export type Remedy =
  | { readonly kind: "config"; readonly pointer: string; readonly yaml: string; readonly json: JsonValue }
  | { readonly kind: "tool"; readonly pointer: string; readonly ts: string }
  | { readonly kind: "command"; readonly command: string };

/**
 * A part of the configuration file: `value` at `path`, whose last name is `-` if the value is a new item of a list.
 * Names are settings of Glovebox; the value may contain texts of a tool.
 */
export function configRemedy(path: readonly string[], value: JsonValue): Remedy {
  const lines = path.map((name, depth) => `${"  ".repeat(depth)}${name === "-" ? "-" : `${name}:`}`);
  return {
    kind: "config",
    pointer: `/${path.join("/")}`,
    yaml: `${lines.join("\n")} ${visibleJson(value)}\n`,
    json: value,
  };
}

/** The setting with which a call that met this number of waiting calls would have waited as well. */
export function widerQueue(maxQueued: number): Remedy {
  return configRemedy(["queue", "maxQueued"], Math.max(1, maxQueued * 2));
}

/** A part of the tool's definition: `value` as the member `name`. */
export function toolRemedy(name: string, value: JsonValue): Remedy {
  return { kind: "tool", pointer: `/${name}`, ts: `${name}: ${visibleJson(value)},` };
}
