import type { Liquid } from "liquidjs";
import { importOptional } from "../../kernel/base/optional-package.ts";
import { TemplateError } from "./errors.ts";
import { isJinja, readJinja } from "./jinja.ts";

const TEXT_MAX = 1_000_000;
const RENDER_MS = 1_000;
/** Limit on the work of filters and loops, in characters and items. */
const WORK_MAX = 20_000_000;
const MESSAGE_MAX = 300;

/** Templates see only the given values: no files, inherited properties or undefined names. An `if` may test a name. */
const OPTIONS = {
  templates: {},
  strictVariables: true,
  lenientIf: true,
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: TEXT_MAX,
  renderLimit: RENDER_MS,
  memoryLimit: WORK_MAX,
} as const;

/**
 * Templates of workflows: in Liquid, or, if they contain constructs of Jinja alone, in the part of Jinja that Strands'
 * workflows use.
 */
export class Templates {
  readonly #liquid: Liquid;

  private constructor(liquid: Liquid) {
    this.#liquid = liquid;
  }

  /** Rejects with a `GloveboxError`, `missing_package`, if LiquidJS is not installed. */
  static async load(): Promise<Templates> {
    const load = () => import("liquidjs");
    const { Liquid } = await importOptional("a Strands workflow", ["liquidjs"], load);
    return new Templates(new Liquid(OPTIONS));
  }

  /** Describes the problem of a template; `null` if it is valid. */
  describe(text: string): string | null {
    try {
      if (isJinja(text)) readJinja(text);
      else this.#liquid.parse(text);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  }

  /** Renders a template. Throws a `TemplateError` that names `place`. */
  render(text: string, values: { readonly [name: string]: unknown }, place: string): string {
    try {
      return isJinja(text) ? readJinja(text)(values) : String(this.#liquid.parseAndRenderSync(text, values));
    } catch (error) {
      throw new TemplateError(`${place} cannot be filled in: ${problemOf(error)}`);
    }
  }
}

/** First line of the message: the others quote the template. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "it cannot be read";
  return (message.split("\n")[0] ?? "").slice(0, MESSAGE_MAX);
}
