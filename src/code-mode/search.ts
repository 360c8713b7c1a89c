import type MiniSearch from "minisearch";
import { eachInTurns } from "../kernel/base/turns.ts";
import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import { declareTools } from "./declarations.ts";
import { scopedName } from "./names.ts";
import { signatureOf } from "./signature.ts";

/** A question of a model for tools. */
export interface ToolQuery {
  readonly query: string;
  readonly namespace?: string;
  readonly limit: number;
  readonly detail: "name" | "signature" | "full";
}

/** The answer to a question. */
export interface FoundTools {
  /** Number of tools that match, of `of` tools. */
  readonly total: number;
  readonly of: number;
  readonly matches: readonly { readonly name: string; readonly description: string }[];
  /** Their declarations in TypeScript; empty for the detail `name`. */
  readonly declarations: string;
}

interface Words {
  readonly id: string;
  readonly name: string;
  readonly tags: string;
  readonly description: string;
  readonly properties: string;
}

const TERMS_MAX = 8;
const QUERY_MAX = 1_000;
const DESCRIPTION_MAX = 2_000;
const PROPERTIES_MAX = 200;
/** Tools that are added to the index in one turn of the event loop. */
const SLICE = 20;
/** Number of tools up to which beginnings of words are searched: more would take long on the host's thread. */
const PREFIX_TOOLS_MAX = 1_000;
const WORD = /[\p{Lu}]?[\p{Ll}]+|[\p{Lu}]+(?![\p{Ll}])|\p{N}+|\p{Lo}+/gu;
/** Words in queries that do not describe a tool. */
const STOP: ReadonlySet<string> = new Set(
  "a an and are as at be by can do for from get have how i in is it me my of on or that the this to want what with you".split(
    " ",
  ),
);
/** Steps of a score that make a difference. */
const SCORE_STEPS = 1e6;
const BOOST = { name: 4, tags: 3, description: 1.5 };
const FIELDS = ["name", "tags", "description", "properties"];

/** Full-text index of the tools of one model. */
export class ToolIndex {
  readonly #index: MiniSearch<Words>;
  readonly #tools: ReadonlyMap<string, ToolDescription>;

  private constructor(index: MiniSearch<Words>, tools: readonly ToolDescription[]) {
    this.#index = index;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  static async of(tools: readonly ToolDescription[]): Promise<ToolIndex> {
    const { default: Index } = await import("minisearch");
    const index = new Index<Words>({ fields: FIELDS, tokenize: termsOf, processTerm: (term) => term });
    await index.addAllAsync(tools.map(wordsOf), { chunkSize: SLICE });
    return new ToolIndex(index, tools);
  }

  async find({ query, namespace, limit, detail }: ToolQuery): Promise<FoundTools> {
    const terms = termsOf(query.slice(0, QUERY_MAX))
      .filter((term) => !STOP.has(term))
      .slice(0, TERMS_MAX);
    const all = await this.#search(terms);
    const names = all.filter((name) => namespace === undefined || scopedName(name).namespace === namespace);
    const tools = names.slice(0, limit).flatMap((name) => this.#tools.get(name) ?? []);
    const matches = tools.map((tool) => ({ name: tool.name, description: aboutOf(tool) }));
    const declarations = detail === "name" ? "" : declareTools(tools, detail === "full" ? "full" : "short");
    return { total: names.length, of: this.#tools.size, matches, declarations };
  }

  async #search(terms: readonly string[]): Promise<readonly string[]> {
    if (terms.length === 0) return [...this.#tools.keys()].toSorted();
    const exact = await this.#rank(terms, false);
    if (exact.length > 0 || this.#tools.size > PREFIX_TOOLS_MAX) return exact;
    return this.#rank(terms, true);
  }

  /** Names of tools that have any of the terms, the best first. One term after the other: many tools may have each. */
  async #rank(terms: readonly string[], isPrefix: boolean): Promise<readonly string[]> {
    const prefix = isPrefix ? (term: string) => term.length > 2 : false;
    const scores = new Map<string, { score: number; terms: number }>();
    await eachInTurns(new Set(terms), (term) => {
      for (const { id, score } of this.#index.search(term, { boost: BOOST, prefix })) {
        const known = scores.get(String(id));
        if (known === undefined) scores.set(String(id), { score, terms: 1 });
        else {
          known.score += score;
          known.terms++;
        }
      }
    });
    // The order in which tools came shows in the last digits of scores, and must not in the order of the answer.
    const ranked = [...scores].map(([name, one]) => ({ name, score: Math.round(one.score * one.terms * SCORE_STEPS) }));
    const inOrder = ranked.toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1));
    return inOrder.map(({ name }) => name);
  }
}

function aboutOf(tool: ToolDescription): string {
  return signatureOf(tool).line.slice(tool.name.length + 2);
}

/** Words in small letters: names are split at capitals, `_`, `.` and `-`; a plural has the term of its singular. */
function termsOf(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) => stem(word.toLowerCase()));
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function wordsOf({ name, description, tags = [], inputSchema }: ToolDescription): Words {
  const properties = typeof inputSchema === "object" ? inputSchema["properties"] : undefined;
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return {
    id: name,
    name,
    tags: tags.join(" "),
    description: description.slice(0, DESCRIPTION_MAX),
    properties: names.slice(0, PROPERTIES_MAX).join(" "),
  };
}
