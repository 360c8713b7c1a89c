import { GloveboxError } from "../base/errors.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { bundleForCalls, type ChosenBundle, type DefinedTool, wholeForCalls } from "./defined-tool.ts";
import type { CheckedDefinition } from "./definition.ts";
import { checksOf, load, type PrepareContext } from "./load.ts";
import { type Loaded, type RegisteredTool, registeredTool } from "./registered-tool.ts";

/** Prepares a tool of `defineTool`: its calls get the half of its module that they need, if there is one. */
export async function prepareDefined(
  definition: CheckedDefinition,
  defined: DefinedTool,
  bundle: Bundle,
  loaded: Loaded,
  context: PrepareContext,
): Promise<RegisteredTool> {
  const { check } = defined;
  const [checks, chosen] = await Promise.all([
    checksOf(check === null ? definition : { ...definition, inputSchema: check }, context),
    loadForCalls(bundleForCalls(defined, bundle), bundle, definition, loaded, context),
  ]);
  return registeredTool(definition, checks, chosen.bundle, chosen.loaded, context);
}

/** Loads the bundle for calls. The whole module was loaded already, and is used if the half for calls does not load. */
async function loadForCalls(
  { bundle: chosen, use }: ChosenBundle,
  whole: Bundle,
  definition: CheckedDefinition,
  loaded: Loaded,
  context: PrepareContext,
): Promise<{ readonly bundle: Bundle; readonly loaded: Loaded }> {
  if (chosen.text === whole.text) return { bundle: whole, loaded: { ...loaded, use } };
  try {
    const again = await load(definition.name, chosen, context, definition.config, definition);
    context.forget(loaded.key);
    const describe = { bytes: whole.bytes, evaluationMs: loaded.evaluationMs };
    return { bundle: chosen, loaded: { ...again, use, ...(use.parses === "host" ? { describe } : {}) } };
  } catch (error) {
    if (use.parses === "isolate" || !(error instanceof GloveboxError)) throw error;
    const { use: other } = wholeForCalls(whole, "its half for calls does not load");
    return { bundle: whole, loaded: { ...loaded, use: other } };
  }
}
