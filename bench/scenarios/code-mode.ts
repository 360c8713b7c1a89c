import { measureCatalogs } from "../code-mode/catalogs.ts";
import { measureChecks } from "../code-mode/checks.ts";
import { measurePrograms } from "../code-mode/programs.ts";
import { combine } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";

/** Programs of models: their calls, their checks, and the declarations and search of the tools that they may call. */
export const codeModeScenario: Scenario = {
  name: "code-mode",
  description:
    "50 calls by a program, against the caller; checks of types; declarations of 3,000 tools and search in 3,300",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 7, sampleMs: 300 },
  async run(context) {
    return combine([await measurePrograms(context), await measureCatalogs(context), await measureChecks(context)]);
  },
};
