import { wholeGrants } from "../../src/kernel/broker/capabilities/names.ts";
import type { Capability } from "../../src/kernel/broker/capabilities/capability.ts";
import { digestOf } from "../../src/kernel/broker/journal.ts";
import type { AskArgs } from "./program.ts";
import type { World } from "./world.ts";

/** What capabilities did, in place of a disk or a network. */
export class Effects {
  /** Keys of capability calls whose handlers began, with the number of times. */
  readonly begun = new Map<string, number>();
  /** Arguments of capability calls whose handlers began, as journals have them, with their keys. */
  readonly keys = new Map<string, string>();
  /** Runs with something that cannot be undone. */
  readonly #changed = new Set<number>();
  /** Keys of what calls that are stored have written, by program and ordinal. */
  readonly #written = new Map<string, string>();
  /** The runs of each program, by its seed. */
  readonly #runs = new Map<number, Set<number>>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** A capability whose handlers do what their arguments say. `onEffect`: something has happened, and nobody knows yet. */
  capability(name: string, onEffect: () => void): Capability {
    return {
      name,
      grants: wholeGrants,
      methods: { write: {}, read: { isRead: true } },
      open: () => ({ invoke: (method, args) => this.#invoke(method, args as AskArgs, onEffect) }),
    };
  }

  /** A program begins: a further run of its call follows none with an effect. */
  begin(run: number, seed: number): void {
    const runs = this.#runs.get(seed);
    if (runs === undefined) return void this.#runs.set(seed, new Set([run]));
    for (const earlier of runs) {
      if (earlier < run && this.#changed.has(earlier))
        this.#world.violate(`run ${run} follows run ${earlier}, which had an effect`);
    }
    runs.add(run);
  }

  /** Whether a program of a call that is stored has written anything, by its seed. */
  hasWritten(seed: number): boolean {
    for (const place of this.#written.keys()) if (place.startsWith(`${seed}:`)) return true;
    return false;
  }

  /** A later run of a call writes nothing that an earlier one has written, at whatever time it gets there. */
  #write(key: string): void {
    const place = key.slice(0, key.lastIndexOf(":"));
    const earlier = this.#written.get(place);
    if (earlier !== undefined && earlier !== key) this.#world.violate(`${earlier} was written again, as ${key}`);
    this.#written.set(place, key);
  }

  #invoke(method: string, args: AskArgs, onEffect: () => void): unknown {
    const { key, run, mood, isStored = false } = args;
    const times = (this.begun.get(key) ?? 0) + 1;
    this.begun.set(key, times);
    if (isStored) this.keys.set(digestOf(JSON.stringify(args)), key);
    // What only reads is done again where its process was lost.
    if (times > 1 && !(isStored && method === "read"))
      this.#world.violate(`the handler of ${key} was called ${times} times`);
    if (method === "write" && isStored) this.#write(key);
    if (method === "write" && !isStored) this.#changed.add(run);
    if (this.#world.trace !== null) this.#world.note(`effect ${method} ${key}`);
    onEffect();
    if (mood < 0.4) return { key };
    if (mood < 0.5) throw new Error("no such thing");
    // From a moment to longer than calls may take.
    const waitMs = mood < 0.9 ? (mood - 0.5) * 10 : (mood - 0.9) * 400;
    return new Promise((resolve) => setTimeout(() => resolve({ key }), waitMs));
  }
}
