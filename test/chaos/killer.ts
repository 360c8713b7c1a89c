import type { Engine } from "../../src/glovebox/index.ts";
import type { Dice } from "../load/dice.ts";
import { executors } from "../processes.ts";

/** Target of a kill. Once tools are in quarantine, a second process serves them. */
export const TARGETS = [
  { target: "active", weight: 12 },
  { target: "quarantine", weight: 3 },
  { target: "spare", weight: 1 },
] as const;
export type Target = (typeof TARGETS)[number]["target"];

/** Ends executor processes from outside, as a system that is short of memory would. */
export class Killer {
  readonly #dice: Dice;
  /** The processes at work, in the order in which their places were first filled: the main one, the quarantine. */
  readonly #places: number[] = [];
  readonly kills: Record<Target, number> = { active: 0, quarantine: 0, spare: 0 };

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Has to watch an engine from its first process on, so it is told of that one. */
  watch(engine: Engine): void {
    const [first] = executors();
    if (first !== undefined) this.#places.push(first);
    engine.on("executor:start", ({ pid }) => this.#fill(pid));
  }

  /** Ends one process; the active one if no process of the drawn kind runs. */
  strike(): void {
    const { target } = this.#dice.pickWeighted(TARGETS);
    const pid = this.#find(target);
    if (pid !== undefined) return this.#kill(pid, target);
    const [active] = this.#places;
    if (active !== undefined) this.#kill(active, "active");
  }

  #find(target: Target): number | undefined {
    if (target === "active") return this.#places[0];
    if (target === "quarantine") return this.#places[1];
    return executors().find((pid) => !this.#places.includes(pid));
  }

  #kill(pid: number, target: Target): void {
    try {
      process.kill(pid, "SIGKILL");
      this.kills[target]++;
    } catch {
      // It has ended meanwhile.
    }
  }

  /** A process that goes to work takes the place of one that has ended. */
  #fill(pid: number): void {
    const living = new Set(executors());
    const empty = this.#places.findIndex((each) => !living.has(each));
    if (empty < 0) this.#places.push(pid);
    else this.#places[empty] = pid;
  }
}
