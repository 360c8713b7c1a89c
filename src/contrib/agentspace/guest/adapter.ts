import {
  type Adapter,
  configOf,
  type Exports,
  isObject,
  isThenable,
  methodOf,
} from "../../../kernel/guest/contracts/adapter.ts";

const CLASS = "AgentSpaceV1Tool";

/** AgentSpace: a class `AgentSpaceV1Tool` with `execute` and, optionally, `execute_command`. */
export const adapter: Adapter = {
  name: "agentspace",
  isDistinctive: true,
  matches: (exports) => classIn(exports) !== undefined,
  describe: (exports, facts) => {
    const tool = create(exports, facts);
    return {
      has_execute: methodOf(tool, "execute") !== undefined,
      has_command: methodOf(tool, "execute_command") !== undefined,
      commands: commandsOf(classIn(exports), tool),
    };
  },
  open: (exports, facts) => {
    const tool = create(exports, facts);
    return (input, context, command) => {
      // The context is an extension of the contract: it gives access to `host`.
      if (command === undefined) return returned(methodOf(tool, "execute")?.(input, context));
      const run = methodOf(tool, "execute_command");
      if (run !== undefined) return run(command, input);
      throw new NotImplementedError(`tool "${facts.name}" has no commands`);
    };
  },
};

const SOURCE_MAX = 64 * 1024;
/** A comparison of a name with a text, or a text in a `case` of a `switch`. */
const COMPARED = /(?:\bcase\s*|([\w$]+)\s*={2,3}\s*)(?:"([^"\\\n]{1,256})"|'([^'\\\n]{1,256})')/g;

/** The texts with which `execute_command` compares the given name, from its source. */
function commandsOf(Tool: unknown, tool: unknown): unknown {
  // Python has read its own code.
  const known: unknown = isObject(Tool) || typeof Tool === "function" ? Reflect.get(Tool, "commands") : undefined;
  const method: unknown = isObject(tool) ? Reflect.get(tool, "execute_command") : undefined;
  if (known !== undefined || typeof method !== "function") return known;
  const source = Function.prototype.toString.call(method).slice(0, SOURCE_MAX);
  const [, name] = /^[^(]*\(\s*([\w$]+)/.exec(source) ?? [];
  const found = [...source.matchAll(COMPARED)].filter(([, compared]) => compared === undefined || compared === name);
  return found.map(([, , double, single]) => double ?? single);
}

/** Named after Python's built-in exception: there is no such operation. */
class NotImplementedError extends Error {
  override readonly name = "NotImplementedError";
}

function create(exports: Exports, facts: Parameters<Adapter["open"]>[1]): unknown {
  const Tool = classIn(exports);
  if (Tool === undefined) throw new TypeError(`the module exports no class ${CLASS}`);
  return Reflect.construct(Tool, [facts.name, configOf(facts)]);
}

function classIn(exports: Exports): (new (...args: unknown[]) => unknown) | undefined {
  const named = exports[CLASS];
  const found = typeof named === "function" ? named : exports["default"];
  if (typeof found !== "function") return undefined;
  return found === named || found.name === CLASS ? (found as new (...args: unknown[]) => unknown) : undefined;
}

/** The contract allows only objects as output. */
function returned(output: unknown): unknown {
  return isThenable(output) ? Promise.resolve(output).then(requireObject) : requireObject(output);
}

function requireObject(output: unknown): unknown {
  if (isObject(output) && !Array.isArray(output)) return output;
  const what = output === null ? "null" : Array.isArray(output) ? "a list" : `a value of type ${typeof output}`;
  throw new TypeError(`execute must return an object, but returned ${what}`);
}
