import { methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import { Refusal } from "../../../kernel/guest/contracts/defined.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { absent, configOf, isFunctionIn, memberOf, textIn } from "./library.ts";

const HOSTED = new Set<unknown>(["hosted_tool", "computer", "shell", "apply_patch"]);
const NEEDS_APPROVAL = "has needsApproval, and calls cannot wait for an approval";

/** Tools of the OpenAI Agents SDK: `tool({ name, description, parameters, execute })`. */
export const openaiAgents: Library = {
  name: "openai-agents",
  matches: (value) => {
    if (textIn(value, "name") === undefined) return false;
    const type = memberOf(value, "type");
    return (type === "function" && isFunctionIn(value, "invoke")) || (HOSTED.has(type) && "providerData" in value);
  },
  nameOf: (value) => textIn(value, "name"),
  refusal: async (value) => {
    if (!isFunctionIn(value, "invoke")) return "is run by the model's provider";
    for (const guards of ["inputGuardrails", "outputGuardrails"]) {
      const list = memberOf(value, guards);
      if (Array.isArray(list) && list.length > 0) return `has ${guards}, which only a run of its library applies`;
    }
    return (await needsApproval(value, absent("runContext", INSTEAD), {}, "")) ? NEEDS_APPROVAL : undefined;
  },
  describe: (value) => ({
    name: textIn(value, "name"),
    description: textIn(value, "description"),
    input: memberOf(value, "parameters"),
    output: memberOf(value, "outputSchema"),
  }),
  open: (value, { name }) => {
    const invoke = methodOf(value, "invoke");
    return async (input, context) => {
      const run = runContextOf(context);
      if (await needsApproval(value, run, input, context.callId)) throw refuseCall(name);
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

/** Every tool has the function: whether it needs one is known only when it is asked. */
async function needsApproval(tool: object, run: object, input: unknown, callId: string): Promise<boolean> {
  try {
    return (await methodOf(tool, "needsApproval")?.(run, input, callId)) === true;
  } catch {
    // A function of the tool's author, which reads arguments that this call does not have.
    return callId !== "";
  }
}

function refuseCall(name: string): Refusal {
  const message = `this call of "${name}" needs an approval, for which calls cannot wait`;
  return new Refusal(JSON.stringify({ code: "tool_error", message, type: "ApprovalRequired" }));
}
