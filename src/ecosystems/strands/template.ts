import { Liquid } from "liquidjs";
import { TemplateError } from "./errors.ts";

const TEXT_MAX = 1_000_000;
const RENDER_MS = 1_000;
/** Of what filters and loops make, in characters and items. */
const WORK_MAX = 20_000_000;
const MESSAGE_MAX = 300;

/** Templates see what they are given: no files, no inherited properties, no names that are not there. */
const liquid = new Liquid({
  templates: {},
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: TEXT_MAX,
  renderLimit: RENDER_MS,
  memoryLimit: WORK_MAX,
});

/** What is wrong with a template's text; `null` where nothing is. */
export function describeTemplate(text: string): string | null {
  try {
    liquid.parse(text);
    return null;
  } catch (error) {
    return problemOf(error);
  }
}

/** Fills in a template. Throws a `TemplateError` that names `place`. */
export function render(text: string, values: { readonly [name: string]: unknown }, place: string): string {
  try {
    return String(liquid.parseAndRenderSync(text, values));
  } catch (error) {
    throw new TemplateError(`${place} cannot be filled in: ${problemOf(error)}`);
  }
}

/** The first line: the others show the template. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "it cannot be read";
  return (message.split("\n")[0] ?? "").slice(0, MESSAGE_MAX);
}
