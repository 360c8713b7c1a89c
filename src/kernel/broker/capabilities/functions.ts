import { messageOf } from "../method-call.ts";
import type { Capability, MethodShape } from "./capability.ts";
import { wholeGrants } from "./names.ts";

/** Name of the capability through which a program calls the functions that its caller gave it. */
export const FUNCTIONS = "functions";

/** A function of the embedder for the calls of one program. `args` is hostile input, and may be any JSON value. */
export type HostFunction = (args: unknown) => unknown;

/** A function's answer to a program: its value, which JSON leaves out if it is `undefined`, or its error. */
type FunctionAnswer =
  { readonly value: unknown } | { readonly error: { readonly name: string; readonly message: string } };

const NAME_MAX = 100;
const MESSAGE_MAX = 2_000;

/** One for all functions: the broker keeps what it has compiled for a method by the method's shape. */
const SHAPE: MethodShape = {};

/**
 * `functions`: functions of the embedder as a capability of one call, in which each is a method. The caller of a program
 * grants them with the call, so no policy does.
 */
export function functionsCapability(functions: ReadonlyMap<string, HostFunction>): Capability<true> {
  return {
    name: FUNCTIONS,
    isOfEmbedder: true,
    grants: wholeGrants,
    methods: Object.fromEntries([...functions.keys()].map((name) => [name, SHAPE])),
    open: () => ({ invoke: (name, args) => answerOf(functions.get(name), args) }),
  };
}

async function answerOf(call: HostFunction | undefined, args: unknown): Promise<FunctionAnswer> {
  try {
    return { value: await call?.(args) };
  } catch (error) {
    return { error: { name: nameOf(error), message: messageOf(error).slice(0, MESSAGE_MAX) } };
  }
}

/** Name of an error, which may be any value. */
function nameOf(error: unknown): string {
  try {
    const name: unknown = error instanceof Error ? error.name : undefined;
    return typeof name === "string" && name !== "" ? name.slice(0, NAME_MAX) : "Error";
  } catch {
    return "Error";
  }
}
