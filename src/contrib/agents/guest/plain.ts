import { isThenable, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import type { Library } from "../../../kernel/guest/contracts/library.ts";
import { isFunctionIn, memberOf, textIn } from "./library.ts";
import { parserFor } from "./parser.ts";

/** Objects `{ name, description, parameters, execute }` of no library: `execute(input, context)` has the engine's context. */
export const plain: Library = {
  name: "tools",
  matches: (value) => textIn(value, "name") !== undefined && isFunctionIn(value, "execute"),
  nameOf: (value) => textIn(value, "name"),
  refusal: () => undefined,
  describe: (value) => ({
    name: textIn(value, "name"),
    description: textIn(value, "description"),
    input: schemaIn(value),
    output: memberOf(value, "outputSchema"),
  }),
  open: (value) => {
    const execute = methodOf(value, "execute");
    const parse = parserFor(schemaIn(value));
    return (input, context) => {
      const parsed = parse === null ? input : parse(input);
      return isThenable(parsed)
        ? Promise.resolve(parsed).then((one) => execute?.(one, context))
        : execute?.(parsed, context);
    };
  },
};

function schemaIn(value: object): unknown {
  return memberOf(value, "inputSchema") ?? memberOf(value, "parameters") ?? memberOf(value, "input_schema");
}
