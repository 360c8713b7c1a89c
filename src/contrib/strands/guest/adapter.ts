import type { StrandsTools } from "../../../python/guest/module.ts";
import { bytesOf } from "../../../kernel/guest/web/buffer-source.ts";
import { encodeBase64 } from "../../../kernel/guest/web/base64-bytes.ts";
import { type Adapter, configOf, type Exports, isObject, isThenable } from "../../../kernel/guest/contracts/adapter.ts";

/** The name under which a module in Python exports them, as no module can itself. */
const SDK_TOOLS = "~strands";

/**
 * Strands: `TOOL_SPEC` and a function of that name, which takes `{ toolUseId, input }` and returns content blocks;
 * tools of the SDK; or both.
 */
export const adapter: Adapter = {
  name: "strands",
  isDistinctive: true,
  matches: (exports) => exports["TOOL_SPEC"] !== undefined || exports[SDK_TOOLS] !== undefined,
  describe: (exports) => {
    const spec = exports["TOOL_SPEC"];
    const sdk = sdkTools(exports);
    const own = { TOOL_SPEC: spec ?? null, function: typeof exports[nameIn(spec)] === "function" };
    return { ...(spec === undefined && sdk !== undefined ? {} : own), ...(sdk && { tools: sdk.specs }) };
  },
  open: (exports, facts) => {
    const sdk = sdkTools(exports);
    if (sdk?.specs.some((spec) => nameIn(spec) === facts.name) === true) {
      const config = configOf(facts);
      return (input, context) =>
        sdk.call(facts.name, { toolUseId: context.callId, name: facts.name, input }, config).then(packed);
    }
    const name = nameIn(exports["TOOL_SPEC"]);
    const tool = exports[name];
    if (typeof tool !== "function") throw new TypeError(`the module exports no function "${name}"`);
    return (input, context) => {
      const result: unknown = Reflect.apply(tool, undefined, [{ toolUseId: context.callId, input }, context]);
      return isThenable(result) ? Promise.resolve(result).then(packed) : packed(result);
    };
  },
};

function sdkTools(exports: Exports): StrandsTools | undefined {
  return exports[SDK_TOOLS] as StrandsTools | undefined;
}

function nameIn(spec: unknown): string {
  const name: unknown = isObject(spec) ? Reflect.get(spec, "name") : undefined;
  return typeof name === "string" ? name : "";
}

/** Kinds of blocks that hold bytes, which become Base64, because only text leaves the isolate. */
const MEDIA = ["image", "document", "video"] as const;

function packed(result: unknown): unknown {
  if (!isObject(result)) return result ?? null;
  const content: unknown = Reflect.get(result, "content");
  return Array.isArray(content) ? { ...result, content: content.map(packedBlock) } : result;
}

/** `{ image: bytes }`, and `{ image: { format, source: { bytes } } }` as the SDK has it. */
function packedBlock(block: unknown): unknown {
  if (!isObject(block)) return block;
  for (const kind of MEDIA) {
    const media: unknown = Reflect.get(block, kind);
    const bytes = kind === "image" ? bytesOf(media) : undefined;
    if (bytes !== undefined) return { ...block, image: { base64: encodeBase64(bytes) } };
    const source: unknown = isObject(media) ? Reflect.get(media, "source") : undefined;
    if (!isObject(media) || !isObject(source)) continue;
    const inner = bytesOf(Reflect.get(source, "bytes"));
    if (inner === undefined) continue;
    return { ...block, [kind]: { ...media, source: { ...source, bytes: { base64: encodeBase64(inner) } } } };
  }
  return block;
}
