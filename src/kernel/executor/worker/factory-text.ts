import { GLOBAL_NAMES, NODE_NAME, OWN_NAMES, usesSockets } from "../../guest/host.ts";
import { CHECKS_GLOBAL } from "../../base/protocol/prelude.ts";
import { SCRIPT_EXPORTS, type ToolChecks, type ToolScript } from "../../base/protocol/script.ts";

/** A tool's bundle as a factory, and its data for a realm. */
export interface FactoryText {
  /** An expression whose value is the factory. Its first line is not part of the bundle. */
  readonly text: string;
  /** The per-call globals that the bundle mentions: only these are created for each instance. */
  readonly ownNames: string;
  /** `ToolFacts` as JSON. */
  readonly facts: string;
}

/** Wraps a tool's bundle so that evaluating it again makes a fresh instance. */
export function factoryText(script: ToolScript): FactoryText {
  const { text } = script;
  const ownNames: string[] = OWN_NAMES.filter((own) => text.includes(own));
  if (text.includes(`${NODE_NAME}.`) || usesSockets(text)) ownNames.push(NODE_NAME);
  const parameters = [...GLOBAL_NAMES, ...ownNames].join(", ");
  return {
    text: `(function (${parameters}) { "use strict";\n${text}\nreturn ${SCRIPT_EXPORTS};\n})`,
    ownNames: ownNames.join(","),
    facts: factsOf(script),
  };
}

/** An expression whose value is a `CreateChecks`. `runtime`: the prelude's `checks`. */
export function checkRuntimeText(runtime: string): string {
  const create = `(place, codes) => ${CHECKS_GLOBAL}.createChecks(new Int32Array(place ?? 1), ...codes)`;
  return `(function () { "use strict";\n${runtime}\nreturn ${create};\n})()`;
}

/** An expression whose value is the second argument of a `CreateChecks`. */
export function checkCodeText({ input, output, outputAt, isAdvice }: ToolChecks): string {
  const more = `${JSON.stringify(outputAt ?? null)},\n${isAdvice === true}`;
  return `(function () { "use strict";\nreturn [${input || "null"},\n${output || "null"},\n${more}];\n})()`;
}

/** `ToolFacts` as JSON. */
export function factsOf({ name, version, config, contract, lacksFetch, env }: ToolScript): string {
  return JSON.stringify({ name, version, config, contract, lacksFetch, env });
}
