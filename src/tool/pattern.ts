import { parsePattern, PatternError, type CharTest, type Edge, type PatternNode } from "./pattern-syntax.ts";
import type { WorkMeter } from "./work-meter.ts";

/** Instructions that all patterns of one schema may have together: a pattern's text can be far smaller than they. */
const MAX_INSTRUCTIONS = 50_000;

type Instruction =
  | { readonly op: "char"; readonly test: CharTest }
  | { readonly op: "edge"; readonly edge: Edge }
  | { readonly op: "look"; readonly program: Program; readonly negative: boolean }
  | { readonly op: "split"; first: number; second: number }
  | { readonly op: "jump"; to: number }
  | { readonly op: "match" };

/** What ajv needs of a regular expression. */
export interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

/**
 * Compiles the `pattern`s of one schema.
 *
 * A tool's schema brings the pattern and a caller the string, and neither can be trusted, while matching runs on the
 * host's thread. V8's matcher backtracks, and which patterns make it explode cannot be told reliably. So patterns run
 * on a machine that follows all alternatives at once (Thompson's construction): its time is the length of the string
 * times the size of the pattern, and each step is metered. Back-references and lookbehind do not fit this and are
 * refused when the tool is registered.
 */
export class PatternCompiler {
  readonly #meter: WorkMeter;
  #left = MAX_INSTRUCTIONS;

  constructor(meter: WorkMeter) {
    this.#meter = meter;
  }

  /** Throws a `PatternError` that says why where the pattern cannot be used. */
  compile(pattern: string): Pattern {
    const { node, unicode } = parsePattern(pattern);
    const program = this.#program(node, pattern, unicode, false);
    // ajv tells patterns apart by their text.
    return { test: (text) => program.matches(text, 0), toString: () => `/${pattern}/` };
  }

  #program(root: PatternNode, pattern: string, unicode: boolean, anchored: boolean): Program {
    const code: Instruction[] = [];
    const emit = (instruction: Instruction): number => {
      if (this.#left-- <= 0) {
        throw new PatternError(pattern, `repeats too much; all repetitions may add up to ${MAX_INSTRUCTIONS} steps`);
      }
      return code.push(instruction) - 1;
    };
    const write = (node: PatternNode): void => {
      switch (node.type) {
        case "empty":
          return;
        case "char":
          emit({ op: "char", test: node.test });
          return;
        case "edge":
          emit({ op: "edge", edge: node.edge });
          return;
        case "look":
          emit({ op: "look", program: this.#program(node.node, pattern, unicode, true), negative: node.negative });
          return;
        case "sequence":
          node.parts.forEach(write);
          return;
        case "choice":
          writeChoice(node.options);
          return;
        case "repeat":
          writeRepeat(node.node, node.min, node.max);
          return;
      }
    };
    const writeChoice = (options: readonly PatternNode[]): void => {
      const ends: { to: number }[] = [];
      options.forEach((option, index) => {
        const split = { op: "split" as const, first: code.length + 1, second: 0 };
        const last = index === options.length - 1;
        if (!last) emit(split);
        write(option);
        if (last) return;
        const end = { op: "jump" as const, to: 0 };
        emit(end);
        ends.push(end);
        split.second = code.length;
      });
      for (const end of ends) end.to = code.length;
    };
    const writeRepeat = (node: PatternNode, min: number, max: number): void => {
      for (let count = 0; count < min; count++) {
        const before = code.length;
        write(node);
        // Nothing was written: nor will the next ten million times.
        if (code.length === before) return;
      }
      const splits: { second: number }[] = [];
      const rounds = max === Infinity ? min + 1 : max;
      for (let count = min; count < rounds; count++) {
        const split = { op: "split" as const, first: code.length + 1, second: 0 };
        const at = emit(split);
        splits.push(split);
        write(node);
        if (max === Infinity) emit({ op: "jump", to: at });
      }
      for (const split of splits) split.second = code.length;
    };
    write(root);
    emit({ op: "match" });
    return new Program(code, unicode, anchored, this.#meter);
  }
}

/** Where a match stands after some characters: the instructions that wait for the next one. */
class State {
  readonly waiting: readonly number[];
  /** Where the next character leads, as far as that has been worked out. */
  readonly next = new Map<number, State>();

  constructor(waiting: readonly number[]) {
    this.waiting = waiting;
  }
}

const MATCHED = new State([]);
/** Instructions that the remembered states of one program may list together. */
const MAX_REMEMBERED = 20_000;
/** Working out a step takes about this many times as long as remembering it. */
const STEP_WEIGHT = 8;

class Program {
  readonly #code: readonly Instruction[];
  readonly #unicode: boolean;
  readonly #anchored: boolean;
  readonly #meter: WorkMeter;
  /** Whether a step depends on its characters only, so that it may be remembered. */
  readonly #steady: boolean;
  #states = new Map<string, State>();
  #remembered = 0;
  /** The round in which an instruction was last reached: so that each is followed once for every character. */
  readonly #reached: Int32Array;
  #round = 0;
  readonly #open: number[] = [];

  /** An `anchored` program matches only where it is started, any other one anywhere after. */
  constructor(code: readonly Instruction[], unicode: boolean, anchored: boolean, meter: WorkMeter) {
    this.#code = code;
    this.#unicode = unicode;
    this.#anchored = anchored;
    this.#meter = meter;
    this.#steady = code.every(({ op, ...rest }) => op !== "look" && !("edge" in rest && /[wW]ord$/.test(rest.edge)));
    this.#reached = new Int32Array(code.length);
  }

  matches(text: string, from: number): boolean {
    const waiting: number[] = [];
    this.#newRound();
    if (this.#follow(0, text, from, waiting)) return true;
    let state = new State(waiting);
    for (let at = from; at < text.length;) {
      if (this.#anchored && state.waiting.length === 0) return false;
      const char = this.#unicode ? (text.codePointAt(at) ?? 0) : text.charCodeAt(at);
      at += char > 0xffff ? 2 : 1;
      this.#meter.spend(1);
      const key = char * 2 + Number(at === text.length);
      let next = state.next.get(key);
      if (next === undefined) {
        next = this.#step(state, char, text, at);
        if (this.#steady) state.next.set(key, next);
      }
      if (next === MATCHED) return true;
      state = next;
    }
    return false;
  }

  #step(state: State, char: number, text: string, at: number): State {
    this.#meter.spend(STEP_WEIGHT * (1 + state.waiting.length));
    this.#newRound();
    const waiting: number[] = [];
    for (const index of state.waiting) {
      const instruction = this.#code[index];
      if (instruction?.op !== "char") continue;
      const fits = char < 128 ? instruction.test.ascii[char] === 1 : instruction.test.other(char);
      if (fits && this.#follow(index + 1, text, at, waiting)) return MATCHED;
    }
    if (!this.#anchored && this.#follow(0, text, at, waiting)) return MATCHED;
    return this.#steady ? this.#remember(waiting) : new State(waiting);
  }

  #remember(waiting: readonly number[]): State {
    const key = waiting.join();
    const known = this.#states.get(key);
    if (known !== undefined) {
      // A step to a known state still takes an entry.
      this.#remembered++;
      return known;
    }
    this.#remembered += waiting.length + 1;
    if (this.#remembered > MAX_REMEMBERED) {
      this.#states = new Map();
      this.#remembered = 0;
    }
    const state = new State(waiting);
    this.#states.set(key, state);
    return state;
  }

  #newRound(): void {
    if (++this.#round < 0x7fffffff) return;
    this.#reached.fill(0);
    this.#round = 1;
  }

  /** Follows everything that takes no character from `start` on; true when that reaches the end of the pattern. */
  #follow(start: number, text: string, at: number, waiting: number[]): boolean {
    const open = this.#open;
    open.length = 0;
    open.push(start);
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (this.#reached[index] === this.#round) continue;
      this.#reached[index] = this.#round;
      this.#meter.spend(STEP_WEIGHT);
      const instruction = this.#code[index];
      switch (instruction?.op) {
        case "char":
          waiting.push(index);
          break;
        case "jump":
          open.push(instruction.to);
          break;
        case "split":
          open.push(instruction.second, instruction.first);
          break;
        case "edge":
          if (holds(instruction.edge, text, at)) open.push(index + 1);
          break;
        case "look":
          if (instruction.program.matches(text, at) !== instruction.negative) open.push(index + 1);
          break;
        case "match":
          return true;
        case undefined:
          break;
      }
    }
    return false;
  }
}

function holds(edge: Edge, text: string, at: number): boolean {
  if (edge === "start") return at === 0;
  if (edge === "end") return at === text.length;
  const between = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
  return between === (edge === "word");
}

function isWord(char: number): boolean {
  return (char >= 48 && char <= 57) || (char >= 65 && char <= 90) || char === 95 || (char >= 97 && char <= 122);
}
