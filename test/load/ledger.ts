import { setTimeout as delay } from "node:timers/promises";
import type { CustomCapability, Engine } from "../../src/glovebox/index.ts";

/** How often something happened to each of many calls: a byte for each, so that millions can be watched. */
class Counts {
  #bytes = new Uint8Array(1 << 16);

  add(call: number): void {
    while (call >= this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[call] = Math.min(255, this.of(call) + 1);
  }

  of(call: number): number {
    return this.#bytes[call] ?? 0;
  }
}

/** What happened to each call, by its id, as the engine's events and its capability tell it. */
export class Ledger {
  readonly #ends = new Counts();
  readonly #effects = new Counts();
  effects = 0;

  /** Counts what it is asked to: at once, or some time later. */
  capability(): CustomCapability {
    const count = (callId: string) => {
      this.effects++;
      this.#effects.add(Number(callId));
    };
    return {
      name: "counter",
      methods: {
        add: {
          handler: ({ by }: { by: number }, { callId }) => {
            count(callId);
            return { by };
          },
        },
        late: {
          handler: async ({ by, ms }: { by: number; ms: number }, { callId }) => {
            count(callId);
            await delay(ms);
            return { by };
          },
        },
        look: { handler: () => null },
      },
    };
  }

  watch(engine: Engine): void {
    const note = ({ callId }: { readonly callId: string }) => this.#ends.add(Number(callId));
    engine.on("tool:post", note).on("tool:error", note);
  }

  endsOf(call: number): number {
    return this.#ends.of(call);
  }

  effectsOf(call: number): number {
    return this.#effects.of(call);
  }
}
