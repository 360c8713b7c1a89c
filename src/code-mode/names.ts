import { propertyKey } from "../kernel/tool/declarations/names.ts";

const LENGTH_MAX = 128;

/** The namespace of a tool and its name there: `github.list_issues` is `list_issues` of `github`. */
export interface ScopedName {
  /** Empty for a name without a dot. */
  readonly namespace: string;
  readonly member: string;
}

export function scopedName(name: string): ScopedName {
  const dot = name.indexOf(".");
  if (dot <= 0) return { namespace: "", member: name };
  return { namespace: name.slice(0, dot), member: name.slice(dot + 1) };
}

/** The expression that is a tool in a program: `tools.github.list_issues`, `tools["geo-find"]`. */
export function expressionOf(name: string): string {
  const { namespace, member } = scopedName(name);
  return `tools${namespace === "" ? "" : access(namespace)}${access(member)}`;
}

function access(name: string): string {
  const key = propertyKey(name);
  return key === name ? `.${name}` : `[${key}]`;
}

/** Finds the names most similar to an unknown one. Made once for a list of names, which may be long. */
export class NearestNames {
  readonly #names: readonly string[];
  readonly #sizes: readonly number[];
  /** Places of names in the list, by a pair of letters that they have. */
  readonly #byPair = new Map<string, number[]>();

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#sizes = names.map((name, at) => {
      const pairs = pairsOf(name);
      for (const pair of pairs) {
        const places = this.#byPair.get(pair);
        if (places === undefined) this.#byPair.set(pair, [at]);
        else places.push(at);
      }
      return pairs.size;
    });
  }

  /** The nearest first. */
  find(name: string, count: number): readonly string[] {
    const wanted = pairsOf(name.slice(0, LENGTH_MAX));
    const shared = new Map<number, number>();
    for (const pair of wanted) {
      for (const at of this.#byPair.get(pair) ?? []) shared.set(at, (shared.get(at) ?? 0) + 1);
    }
    const member = scopedName(name).member.toLowerCase();
    const scored = [...shared].flatMap(([at, both]) => {
      const one = this.#names[at] ?? "";
      // Dice's coefficient; the same member of another namespace is nearer than any other.
      const likeness = (2 * both) / (wanted.size + (this.#sizes[at] ?? 0));
      const score = scopedName(one).member.toLowerCase() === member ? likeness + 1 : likeness;
      return score > LEAST ? [{ one, score }] : [];
    });
    const near = scored.toSorted((a, b) => b.score - a.score || (a.one < b.one ? -1 : 1));
    return near.slice(0, count).map(({ one }) => one);
  }
}

const LEAST = 0.34;

/** Pairs of neighbouring letters. */
function pairsOf(name: string): ReadonlySet<string> {
  const text = ` ${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, " ")} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}
