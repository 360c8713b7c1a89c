import { methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library, LibraryTool } from "../../../kernel/guest/contracts/library.ts";
import { asksOf, awaitApproval } from "./approval.ts";
import { absent, configOf, isFunctionIn, memberOf, textIn } from "./library.ts";

const HOSTED = new Set<unknown>(["hosted_tool", "computer", "shell", "apply_patch"]);

/** Tools of the OpenAI Agents SDK: `tool({ name, description, parameters, execute })`. */
export const openaiAgents: Library = {
  name: "openai-agents",
  matches: (value) => {
    if (textIn(value, "name") === undefined) return false;
    const type = memberOf(value, "type");
    return (type === "function" && isFunctionIn(value, "invoke")) || (HOSTED.has(type) && "providerData" in value);
  },
  nameOf: (value) => textIn(value, "name"),
  refusal: (value) => {
    if (!isFunctionIn(value, "invoke")) return "is run by the model's provider";
    for (const guards of ["inputGuardrails", "outputGuardrails"]) {
      const list = memberOf(value, guards);
      if (Array.isArray(list) && list.length > 0) return `has ${guards}, which only a run of its library applies`;
    }
    return undefined;
  },
  describe: async (value) => ({
    name: textIn(value, "name"),
    description: textIn(value, "description"),
    input: memberOf(value, "parameters"),
    output: memberOf(value, "outputSchema"),
    asks: await asksIn(value),
  }),
  open: (value, { name }) => {
    const invoke = methodOf(value, "invoke");
    const needsApproval = methodOf(value, "needsApproval");
    return async (input, context) => {
      const run = runContextOf(context);
      if (needsApproval !== undefined && (await asksIn(value)) !== "always")
        await awaitApproval(() => needsApproval(run, input, context.callId), input, context);
      const text = JSON.stringify(input);
      const details = {
        toolCall: { type: "function_call", callId: context.callId, name, arguments: text },
        get signal() {
          return context.signal;
        },
      };
      return invoke?.(run, text, details);
    };
  },
};

const INSTEAD =
  "give the tool what it needs as its config, which is runContext.context, or use runContext.host with a grant";

function runContextOf(context: ToolContext): object {
  // `host` is the engine's addition.
  return absent("runContext", INSTEAD, { context: configOf(context) ?? {}, host: context.host });
}

/** Every tool has the function. The SDK makes it of a fixed value, and only a tool's own takes arguments. */
async function asksIn(tool: object): Promise<LibraryTool["asks"]> {
  const needed = memberOf(tool, "needsApproval");
  const isFixed = typeof needed === "function" && needed.length === 0;
  return asksOf(isFixed ? await methodOf(tool, "needsApproval")?.() : needed);
}
