import { entropyOf, type GuestCall, type TurnState } from "./call.ts";
import { consolePart, evaluateModule, evaluatePart, fsPart } from "./deferred.ts";
import { hardenLibrary } from "./harden.ts";
import type { Pure } from "./host.ts";
import { once } from "./lazy-globals.ts";
import { shown } from "./shown.ts";
import type { SubtleMethods } from "./web/crypto.ts";
import type { NodeHost } from "./node/inner/library.ts";

interface NodeWorld {
  readonly realm: object;
  readonly pure: Pure;
  readonly turn: TurnState;
  readonly hardened: boolean;
  readonly report: (call: GuestCall, error: unknown) => void;
}

/** Node's names in a realm. */
interface NodePart {
  /** Opens them for an instance. */
  readonly open: () => object;
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
    open: () => library().open(),
    subtle: () => library().shared("subtle")["methods"] as SubtleMethods,
  };
}

function nodeHost({ realm, pure, turn, hardened, report }: NodeWorld): NodeHost {
  const harden = hardened ? hardenLibrary(realm) : <T>(made: T) => made;
  return {
    call: () => turn.call,
    nowMs: () => turn.nowMs,
    report: (error) => {
      if (turn.call !== null) report(turn.call, error);
    },
    evaluate: (name) => evaluateModule(pure, name),
    text: (name) => pure("part", name, "", ""),
    harden,
    fs: (call) => fsPart().fsFace((capability, method, args) => call.ask(capability, method, args)),
    fillRandom: (bytes) => entropyOf(turn, pure).fill(bytes),
    digest: (algorithm, latin1) => pure("digest", algorithm, latin1, ""),
    console: consolePart,
    shown,
  };
}
