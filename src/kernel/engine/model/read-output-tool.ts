import type { ToolDescription } from "../../tool/contracts/contract.ts";
import { READ_OUTPUT } from "../../tool/program/program.ts";
import { frozen } from "../../base/json.ts";

/** Bounds of the arguments of `read_output`. */
export const PAGE_MIN = 200;
export const POINTER_MAX = 1_024;
export const CALL_MAX = 512;
export const SEARCH_MAX = 200;

/** The last description that was made: most engines have one length, and a server of MCP needs it for each request. */
let made: { readonly modelChars: number; readonly tool: ToolDescription } | null = null;

/** `read_output` for a model. */
export function readOutputTool(modelChars: number): ToolDescription {
  if (made?.modelChars !== modelChars) made = { modelChars, tool: describe(modelChars) };
  return made.tool;
}

/** Frozen, so that it is written once for clients. */
function describe(modelChars: number): ToolDescription {
  const most = Math.max(PAGE_MIN, modelChars);
  return frozen({
    name: READ_OUTPUT,
    description:
      "Reads on in the output of a call that was too long to be shown whole, which says so at its end and names the call. " +
      "Gives the next characters from an index, a part by its JSON pointer, or the places where a text or a pattern stands.",
    inputSchema: {
      type: "object",
      properties: {
        call: { type: "string", maxLength: CALL_MAX, description: "The call, as the end of its output names it." },
        pointer: {
          type: "string",
          maxLength: POINTER_MAX,
          description: "JSON pointer of a part, such as /rows/17. Without one, the whole output.",
        },
        from: { type: "integer", minimum: 0, description: "Index of the first character, in the part. Default 0." },
        chars: { type: "integer", minimum: PAGE_MIN, maximum: most, description: "Number of characters." },
        search: {
          type: "string",
          minLength: 1,
          maxLength: SEARCH_MAX,
          description: "A text to find, literally.",
        },
        pattern: {
          type: "string",
          minLength: 1,
          maxLength: SEARCH_MAX,
          description: "Instead of search: a regular expression of JavaScript to find, in which ^ and $ are line ends.",
        },
      },
      required: ["call"],
      additionalProperties: false,
    },
    annotations: { title: "Read on in an output", readOnly: true, idempotent: true },
  });
}
