import { isObject, isThenable, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import type { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { asksOf, awaitApproval } from "./approval.ts";
import { isFunctionIn, memberOf, textIn } from "./library.ts";
import { parserFor } from "./parser.ts";

/**
 * Objects `{ name, description, parameters, execute }` of no library: the function has the engine's context beside the
 * arguments. With a schema beside it, it may have the name `handler` or `run` instead.
 */
export const plain: Library = {
  name: "tools",
  matches: (value) => textIn(value, "name") !== undefined && functionOf(value) !== undefined,
  nameOf: (value) => textIn(value, "name"),
  refusal: () => undefined,
  describe: (value) => ({
    name: textIn(value, "name"),
    description: textIn(value, "description"),
    input: schemaIn(value),
    output: memberOf(value, "outputSchema"),
    asks: asksOf(memberOf(value, "needsApproval")),
  }),
  open: (value) => {
    const execute = methodOf(value, functionOf(value) ?? "");
    const parse = parserFor(schemaIn(value));
    const needsApproval = methodOf(value, "needsApproval");
    const call = (parsed: unknown, input: unknown, context: ToolContext): unknown =>
      needsApproval === undefined
        ? execute?.(parsed, context)
        : awaitApproval(() => needsApproval(parsed, context), input, context).then(() => execute?.(parsed, context));
    return (input, context) => {
      const parsed = parse === null ? input : parse(input);
      return isThenable(parsed)
        ? Promise.resolve(parsed).then((one) => call(one, input, context))
        : call(parsed, input, context);
    };
  },
};

function functionOf(value: object): string | undefined {
  if (isFunctionIn(value, "execute")) return "execute";
  const others = isObject(schemaIn(value)) ? ["handler", "run"] : [];
  return others.find((name) => isFunctionIn(value, name));
}

function schemaIn(value: object): unknown {
  return memberOf(value, "inputSchema") ?? memberOf(value, "parameters") ?? memberOf(value, "input_schema");
}
