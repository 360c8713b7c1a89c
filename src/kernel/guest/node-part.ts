import { capabilityError, entropyOf, type CallWorld, type GuestCall, type TurnState } from "./call.ts";
import { consolePart, evaluateModule, evaluatePart, fsPart } from "./deferred.ts";
import { CallGlobal } from "./call-global.ts";
import { hardenLater, hardenLibrary, overrider, requireRoom } from "./harden.ts";
import type { Pure } from "./host.ts";
import { defineReplaceable, once } from "./lazy-globals.ts";
import { shown } from "./shown.ts";
import type { SubtleMethods } from "./web/crypto.ts";
import type { CloneRules } from "./web/structured-clone.ts";
import type { NodeHost } from "./node/inner/library.ts";

interface NodeWorld {
  readonly realm: object;
  readonly pure: Pure;
  readonly turn: TurnState;
  readonly hardened: boolean;
  readonly report: (call: GuestCall, error: unknown) => void;
  readonly cloneRules: () => CloneRules;
}

/** Node's globals, which code may also read from its global object. */
const GLOBALS = [
  "Buffer",
  "process",
  "setImmediate",
  "clearImmediate",
  "WebSocket",
  "EventSource",
  "MessageEvent",
  "CloseEvent",
  "CompressionStream",
  "DecompressionStream",
  "navigator",
] as const;

/**
 * The class of the globals of instances that use Node's names. The only instance of an open realm has the realm's own
 * global, which then has them, too.
 */
function globalClass({ realm, turn, hardened }: NodeWorld): typeof CallGlobal {
  class NodeGlobal extends CallGlobal {}
  const { prototype } = NodeGlobal;
  for (const name of GLOBALS) {
    const get = (): unknown =>
      turn.call?.node === undefined || turn.call.node === null ? undefined : Reflect.get(turn.call.node, name);
    if (!hardened && !(name in realm)) defineReplaceable(realm, name, get);
    Object.defineProperty(prototype, name, { get, set: overrider(prototype, name), configurable: true });
  }
  Reflect.deleteProperty(prototype, "constructor");
  return hardened ? hardenLater(NodeGlobal) : NodeGlobal;
}

/** Node's names in a realm. */
interface NodePart {
  /** Opens them for an instance. */
  readonly open: CallWorld["node"]["open"];
  /** The class of its global. */
  readonly globals: () => typeof CallGlobal;
  /** The methods of `crypto.subtle` other than `digest`. */
  readonly subtle: () => SubtleMethods;
}

/**
 * The library is evaluated when the realm's first instance uses it, module by module, and frozen if calls share the
 * realm.
 */
export function nodePart(world: NodeWorld): NodePart {
  const library = once(() => evaluatePart(world.pure, "node").createNode(nodeHost(world)));
  return {
    open: (lacksFetch, env) => library().open(lacksFetch, env),
    globals: once(() => globalClass(world)),
    subtle: () => library().shared("subtle")["methods"] as SubtleMethods,
  };
}

function nodeHost({ realm, pure, turn, hardened, report, cloneRules }: NodeWorld): NodeHost {
  const harden = hardened ? hardenLibrary(realm) : <T>(made: T) => made;
  // On a full stack the answer is empty, which the library would keep for all calls.
  const ask: Pure = hardened ? (...given) => (requireRoom(), pure(...given)) : pure;
  return {
    call: () => turn.call,
    nowMs: () => turn.nowMs,
    report: (error) => {
      if (turn.call !== null) report(turn.call, error);
    },
    evaluate: (name) => evaluateModule(ask, name),
    text: (name) => ask("part", name, "", ""),
    harden,
    denied: (capability, method, message) =>
      capabilityError({ code: "capability_denied", message }, capability, method),
    fs: (call) => fsPart().fsFace((capability, method, args) => call.ask(capability, method, args)),
    fillRandom: (bytes) => entropyOf(turn, pure).fill(bytes),
    digest: (algorithm, latin1) => pure("digest", algorithm, latin1, ""),
    cloneable: (copy) => cloneRules().copy(copy),
    console: consolePart,
    shown,
  };
}
