import { isObject, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import { failure, Refusal } from "../../../kernel/guest/contracts/defined.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { asksOf, awaitApproval } from "./approval.ts";
import { absent, configOf, isFunctionIn, memberOf, refuseUse, report, textIn } from "./library.ts";

/** The symbol by which newer versions recognise their own tools. */
const MARKER = Symbol.for("mastra.core.tool.Tool");

/** Tools of Mastra: `createTool({ id, description, inputSchema, execute })`. */
export const mastra: Library = {
  name: "mastra",
  matches: (value) =>
    textIn(value, "id") !== undefined && (isNewer(value) || "suspendSchema" in value || "mastra" in value),
  nameOf: (value) => textIn(value, "id"),
  refusal: (value) => (isFunctionIn(value, "execute") ? undefined : "has no execute"),
  describe: (value) => ({
    name: textIn(value, "id"),
    description: textIn(value, "description"),
    input: memberOf(value, "inputSchema"),
    output: memberOf(value, "outputSchema"),
    title: textIn(value, "title"),
    asks: asksOf(approvalOf(value)),
  }),
  open: (value) => {
    const execute = methodOf(value, "execute");
    const newer = isNewer(value);
    const approval = approvalOf(value);
    return async (input, context) => {
      const offered = offeredTo(context);
      const given = requestContext(context);
      if (typeof approval === "function") {
        const about = { requestContext: configOf(context) ?? {} };
        await awaitApproval(() => Reflect.apply(approval, value, [input, about]) as unknown, input, context);
      }
      const answer = await (newer
        ? execute?.(input, { ...offered, requestContext: given })
        : execute?.({ ...offered, context: input, runtimeContext: given }, offered));
      return checked(answer);
    };
  },
};

/** Since version 1, `execute` takes the arguments first; before, they were its `context`. */
function isNewer(value: object): boolean {
  return MARKER in value || "requestContextSchema" in value;
}

/** A function decides alone, whatever stands beside it. */
function approvalOf(value: object): unknown {
  return memberOf(value, "needsApprovalFn") ?? memberOf(value, "requireApproval");
}

/** A refusal of a schema is an answer in Mastra. */
function checked(answer: unknown): unknown {
  const message = memberOf(answer, "message");
  if (memberOf(answer, "error") !== true || typeof message !== "string" || !isObject(answer)) return answer;
  if (!("validationErrors" in answer)) return answer;
  throw new Refusal(
    failure(/output/i.test(message.slice(0, 100)) ? "invalid_output" : "invalid_arguments", message, []),
  );
}

const CONFIG = "give the tool what it needs as its config, which is its request context";

function offeredTo(context: ToolContext): object {
  let count = 0;
  const write = (value: unknown): void => report(context, ++count, value);
  return {
    toolCallId: context.callId,
    messages: [],
    get abortSignal() {
      return context.signal;
    },
    mastra: absent("mastra", "do in the tool what it asks Mastra for", {
      getLogger: () => Reflect.get(globalThis, "console") as object,
    }),
    memory: absent("memory", "use context.host.kv with a grant"),
    writer: { write, custom: write },
    // The engine's addition.
    host: context.host,
    suspend: () => refuseUse("suspend", CONFIG),
  };
}

/** The tool's config with the methods of Mastra's request context. */
function requestContext(context: ToolContext): object {
  const values = new Map<string, unknown>(Object.entries(configOf(context) ?? {}));
  return {
    get: (key: string) => values.get(key),
    set: (key: string, value: unknown) => void values.set(key, value),
    has: (key: string) => values.has(key),
    delete: (key: string) => values.delete(key),
    clear: () => values.clear(),
    keys: () => values.keys(),
    values: () => values.values(),
    entries: () => values.entries(),
    size: () => values.size,
    forEach: (each: (value: unknown, key: string) => void) => values.forEach((value, key) => each(value, key)),
    toJSON: () => Object.fromEntries(values),
    get all() {
      return Object.fromEntries(values);
    },
  };
}
