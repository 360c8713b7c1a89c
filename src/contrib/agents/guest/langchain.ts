import { isObject, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { absent, configOf, isFunctionIn, memberOf, report, textIn } from "./library.ts";

/** Tools of LangChain: `tool(func, { name, schema })`, `DynamicStructuredTool`, and subclasses of `StructuredTool`. */
export const langchain: Library = {
  name: "langchain",
  matches: (value) =>
    textIn(value, "name") !== undefined &&
    isFunctionIn(value, "invoke") &&
    isObject(memberOf(value, "schema")) &&
    (isFunctionIn(value, "_call") || memberOf(value, "lc_runnable") === true),
  nameOf: (value) => textIn(value, "name"),
  refusal: () => undefined,
  describe: (value) => ({
    name: textIn(value, "name"),
    description: textIn(value, "description"),
    input: memberOf(value, "schema"),
    wraps: hasArtifact(value),
  }),
  open: (value, { name }) => {
    const invoke = methodOf(value, "invoke");
    if (!hasArtifact(value)) return async (input, context) => contentOf(await invoke?.(input, configFor(context)));
    return async (args, context) => {
      const call = { type: "tool_call", id: context.callId, name, args };
      const message = await invoke?.(call, configFor(context));
      return { output: contentOf(message), metadata: { artifact: memberOf(message, "artifact") ?? null } };
    };
  },
};

function hasArtifact(value: object): boolean {
  return memberOf(value, "responseFormat") === "content_and_artifact";
}

/** A tool may return a message instead of its content. */
function contentOf(answer: unknown): unknown {
  const isMessage = isObject(answer) && memberOf(answer, "lc_direct_tool_output") === true;
  return isMessage ? (memberOf(answer, "content") ?? answer) : answer;
}

const INSTEAD = "give the tool what it needs as its config, which is config.configurable";

function configFor(context: ToolContext): object {
  let count = 0;
  const given = configOf(context);
  return {
    signal: context.signal,
    configurable: given ?? {},
    ...(given === undefined ? {} : { context: given }),
    toolCallId: context.callId,
    // The engine's addition.
    host: context.host,
    writer: (value: unknown) => report(context, ++count, value),
    state: absent("state", INSTEAD),
    store: absent("store", "use config.host.kv with a grant"),
  };
}
