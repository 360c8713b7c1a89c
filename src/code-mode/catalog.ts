import { isAmong } from "../kernel/base/name-patterns.ts";
import { BoundedCache } from "../kernel/base/bounded-cache.ts";
import { eachInTurns } from "../kernel/base/turns.ts";
import type { BuiltProgram } from "../kernel/tool/program/build.ts";
import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import { type CheckedProgram, type CheckPayer, checkTypes } from "./check/type-check.ts";
import { type Declarations, declareWithin } from "./declarations.ts";
import { RUN_CODE, SEARCH_TOOLS } from "./model-tools.ts";
import { expressionOf, NearestNames } from "./names.ts";
import type { ResolvedCodeMode } from "../kernel/engine/code-mode-options.ts";
import { SNIPPET_PREFIX } from "../kernel/engine/snippets/snippet.ts";
import { ToolIndex } from "./search.ts";
import { signatureOf } from "./signature.ts";

const NEAREST = 3;
const CHECKED_MAX = 100;

/** The registered tools that programs may call. */
export class Catalog {
  readonly tools: readonly ToolDescription[];
  readonly #options: ResolvedCodeMode;
  #declared: { readonly tokens: number; readonly made: Declarations } | null = null;
  readonly #checked = new BoundedCache<Promise<CheckedProgram>>(CHECKED_MAX);
  #index: Promise<ToolIndex> | null = null;
  #ready: Promise<void> | null = null;
  #nearest: NearestNames | null = null;
  #names: ReadonlySet<string> | null = null;

  constructor(tools: readonly ToolDescription[], options: ResolvedCodeMode) {
    this.tools = tools;
    this.#options = options;
  }

  /** Resolves when the data for `declarations` is made, in short turns of the event loop: many tools take a while. */
  ready(): Promise<void> {
    return (this.#ready ??= eachInTurns(this.tools, signatureOf));
  }

  /** The last ones are kept: almost all requests have the same budget. */
  declarations(tokens: number): Declarations {
    if (this.#declared?.tokens === tokens) return this.#declared.made;
    const isPinned = (name: string): boolean => isAmong(this.#options.pinned, name);
    const made = declareWithin(this.tools, { tokens, isPinned });
    this.#declared = { tokens, made };
    return made;
  }

  /** Rejects with a `GloveboxError`, `missing_package`. */
  index(): Promise<ToolIndex> {
    this.#index ??= ToolIndex.of(this.tools);
    this.#index.catch(() => (this.#index = null));
    return this.#index;
  }

  /** Names in the program that no tool of the list has. */
  unlistedIn(built: BuiltProgram): readonly string[] {
    this.#names ??= new Set(this.tools.map(({ name }) => name));
    return [...new Set(built.calls.map(({ tool }) => tool))].filter((name) => this.#names?.has(name) !== true);
  }

  /**
   * The same program is checked once, and its first sender pays. `unlisted`: tools that are in no list, but can be
   * called.
   */
  check(
    code: string,
    built: BuiltProgram,
    unlisted: readonly ToolDescription[],
    payer: CheckPayer,
  ): Promise<CheckedProgram> {
    const key = JSON.stringify([code, ...unlisted.map(({ name }) => name)]);
    const known = this.#checked.get(key);
    if (known !== undefined) return known;
    const describeMissing = (name: string): string => this.describeMissing(name);
    const checking = checkTypes(code, built, { tools: [...this.tools, ...unlisted], describeMissing }, payer);
    this.#checked.set(key, checking);
    // A failed check may succeed later.
    void checking.then(({ kind }) => kind === "unchecked" && this.#checked.delete(key));
    return checking;
  }

  /** A message about an unknown tool name, with the most similar names. */
  describeMissing(name: string): string {
    this.#nearest ??= new NearestNames(this.tools.map((tool) => tool.name));
    const near = this.#nearest.find(name, NEAREST).map(expressionOf);
    const missing = `there is no tool ${JSON.stringify(name.slice(0, 128))}`;
    return near.length === 0
      ? `${missing}; search_tools finds tools`
      : `${missing}. Did you mean ${near.join(" or ")}?`;
  }
}

const CATALOGS_MAX = 16;

/** Catalogs of recently used lists of tools: callers with the same tools share one. */
export class CatalogCache {
  /** The latest last. */
  readonly #kept: {
    readonly listed: readonly ToolDescription[];
    readonly catalog: Catalog;
    readonly of: ResolvedCodeMode;
  }[] = [];

  get(listed: readonly ToolDescription[], options: ResolvedCodeMode): Catalog {
    const at = this.#kept.findLastIndex((kept) => kept.of === options && isSame(kept.listed, listed));
    const [known] = at === -1 ? [] : this.#kept.splice(at, 1);
    const callable = (): Catalog =>
      new Catalog(
        listed.filter(({ name }) => mayCall(name, options)),
        options,
      );
    const kept = known ?? { listed, catalog: callable(), of: options };
    this.#kept.push(kept);
    if (this.#kept.length > CATALOGS_MAX) this.#kept.shift();
    return kept.catalog;
  }
}

function isSame(one: readonly ToolDescription[], other: readonly ToolDescription[]): boolean {
  return one.length === other.length && one.every((tool, at) => tool === other[at]);
}

/** Whether programs may call a tool of that name. */
export function mayCall(name: string, { tools, snippets }: ResolvedCodeMode): boolean {
  if (!snippets && name.startsWith(SNIPPET_PREFIX)) return false;
  return name !== RUN_CODE && name !== SEARCH_TOOLS && isAmong(tools, name);
}
