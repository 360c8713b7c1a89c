import type { Liquid } from "liquidjs";
import { importOptional } from "../../base/optional-package.ts";
import { TemplateError } from "./errors.ts";

const TEXT_MAX = 1_000_000;
const RENDER_MS = 1_000;
/** Of what filters and loops make, in characters and items. */
const WORK_MAX = 20_000_000;
const MESSAGE_MAX = 300;

/** Templates see what they are given: no files, no inherited properties, no names that are not there. */
const OPTIONS = {
  templates: {},
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: TEXT_MAX,
  renderLimit: RENDER_MS,
  memoryLimit: WORK_MAX,
} as const;

/** The templates of workflows, in Liquid. */
export class Templates {
  readonly #liquid: Liquid;

  private constructor(liquid: Liquid) {
    this.#liquid = liquid;
  }

  /** Rejects with a `GloveboxError`, `missing_package`, where LiquidJS is not installed. */
  static async load(): Promise<Templates> {
    const load = () => import("liquidjs");
    const { Liquid } = await importOptional("a Strands workflow", ["liquidjs"], load);
    return new Templates(new Liquid(OPTIONS));
  }

  /** What is wrong with a template's text; `null` where nothing is. */
  describe(text: string): string | null {
    try {
      this.#liquid.parse(text);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  }

  /** Fills in a template. Throws a `TemplateError` that names `place`. */
  render(text: string, values: { readonly [name: string]: unknown }, place: string): string {
    try {
      return String(this.#liquid.parseAndRenderSync(text, values));
    } catch (error) {
      throw new TemplateError(`${place} cannot be filled in: ${problemOf(error)}`);
    }
  }
}

/** The first line: the others show the template. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "it cannot be read";
  return (message.split("\n")[0] ?? "").slice(0, MESSAGE_MAX);
}
