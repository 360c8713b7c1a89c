import type { ToolDescription } from "../tool/contracts/contract.ts";
import type { ToolRunner } from "../tool/contracts/runner.ts";
import { type Declarations, declareWithin } from "./declarations.ts";
import { RUN_CODE, SEARCH_TOOLS } from "./model-tools.ts";
import { expressionOf, matchesAny, nearestNames } from "./names.ts";
import type { ResolvedCodeMode } from "./options.ts";
import { ToolIndex } from "./search.ts";

const NEAREST = 3;

/** The tools that programs may call, as they are registered now. */
export class Catalog {
  readonly tools: readonly ToolDescription[];
  readonly #options: ResolvedCodeMode;
  readonly #declarations = new Map<string, Declarations>();
  #index: Promise<ToolIndex> | null = null;

  constructor(tools: readonly ToolDescription[], options: ResolvedCodeMode) {
    this.tools = tools;
    this.#options = options;
  }

  /** Made once for each budget. */
  declarations(tokens: number): Declarations {
    const known = this.#declarations.get(String(tokens));
    if (known !== undefined) return known;
    const isPinned = (name: string): boolean => matchesAny(this.#options.pinned, name);
    const made = declareWithin(this.tools, { tokens, isPinned });
    this.#declarations.clear();
    this.#declarations.set(String(tokens), made);
    return made;
  }

  /** Rejects with a `GloveboxError`, `missing_package`. */
  index(): Promise<ToolIndex> {
    this.#index ??= ToolIndex.of(this.tools);
    this.#index.catch(() => (this.#index = null));
    return this.#index;
  }

  /** A message about a name that no tool has: it names those that are most like it. */
  describeMissing(name: string): string {
    const near = nearestNames(name, this.#names(), NEAREST).map(expressionOf);
    const missing = `there is no tool ${JSON.stringify(name.slice(0, 128))}`;
    return near.length === 0
      ? `${missing}; search_tools finds tools`
      : `${missing}. Did you mean ${near.join(" or ")}?`;
  }

  #names(): readonly string[] {
    return this.tools.map(({ name }) => name);
  }
}

/** The catalog of a runner, made again when its tools have changed. */
export class Catalogs {
  readonly #runner: Pick<ToolRunner, "list" | "get">;
  readonly #options: ResolvedCodeMode;
  #listed: readonly ToolDescription[] = [];
  #catalog: Catalog;

  constructor(runner: Pick<ToolRunner, "list" | "get">, options: ResolvedCodeMode) {
    this.#runner = runner;
    this.#options = options;
    this.#catalog = new Catalog([], options);
  }

  get current(): Catalog {
    const listed = this.#runner.list();
    const isSame = listed.length === this.#listed.length && listed.every((tool, at) => tool === this.#listed[at]);
    if (isSame) return this.#catalog;
    this.#listed = listed;
    this.#catalog = new Catalog(
      listed.filter(({ name }) => this.#mayCall(name)),
      this.#options,
    );
    return this.#catalog;
  }

  /** Whether a program may call a tool of that name. */
  has(name: string): boolean {
    return this.#mayCall(name) && this.#runner.get(name) !== undefined;
  }

  #mayCall(name: string): boolean {
    return name !== RUN_CODE && name !== SEARCH_TOOLS && matchesAny(this.#options.tools, name);
  }
}
