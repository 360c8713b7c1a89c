import { type Adapter, configOf, type Exports, isObject, isThenable, methodOf } from "./adapter.ts";

const CLASS = "AgentSpaceV1Tool";

/** AgentSpace: a class `AgentSpaceV1Tool` with `execute` and, optionally, `execute_command`. */
export const agentspaceAdapter: Adapter = {
  name: "agentspace",
  matches: (exports) => classIn(exports) !== undefined,
  describe: (exports, facts) => {
    const tool = create(exports, facts);
    return {
      has_execute: methodOf(tool, "execute") !== undefined,
      has_command: methodOf(tool, "execute_command") !== undefined,
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
