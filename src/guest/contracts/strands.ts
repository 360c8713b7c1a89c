import { bytesOf } from "../web/buffer-source.ts";
import { encodeBase64 } from "../web/base64-bytes.ts";
import { type Adapter, isObject, isThenable } from "./adapter.ts";

/** Strands: `TOOL_SPEC`, and a function of that name, which takes `{ toolUseId, input }` and returns content blocks. */
export const strandsAdapter: Adapter = {
  name: "strands",
  matches: (exports) => exports["TOOL_SPEC"] !== undefined,
  describe: (exports) => ({
    TOOL_SPEC: exports["TOOL_SPEC"] ?? null,
    function: typeof exports[nameIn(exports["TOOL_SPEC"])] === "function",
  }),
  open: (exports) => {
    const name = nameIn(exports["TOOL_SPEC"]);
    const tool = exports[name];
    if (typeof tool !== "function") throw new TypeError(`the module exports no function "${name}"`);
    return (input, context) => {
      const result: unknown = Reflect.apply(tool, undefined, [{ toolUseId: context.callId, input }, context]);
      return isThenable(result) ? Promise.resolve(result).then(packed) : packed(result);
    };
  },
};

function nameIn(spec: unknown): string {
  const name: unknown = isObject(spec) ? Reflect.get(spec, "name") : undefined;
  return typeof name === "string" ? name : "";
}

/** Encodes the bytes of images as Base64, because only text leaves the isolate. */
function packed(result: unknown): unknown {
  if (!isObject(result)) return result ?? null;
  const content: unknown = Reflect.get(result, "content");
  return Array.isArray(content) ? { ...result, content: content.map(packedBlock) } : result;
}

function packedBlock(block: unknown): unknown {
  const bytes = isObject(block) ? bytesOf(Reflect.get(block, "image")) : undefined;
  return bytes === undefined ? block : { ...(block as object), image: { base64: encodeBase64(bytes) } };
}
