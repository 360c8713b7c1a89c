import { expect, test } from "vitest";
import { ArtifactError, ProviderError, SpecError, UnsupportedError } from "../../src/contrib/strands/index.ts";
import { GloveboxError } from "../../src/glovebox/index.ts";
import { CliError } from "../../src/cli/exit.ts";
import { isWorkflow, orExit } from "../../src/cli/open-workflow.ts";

test.each([
  ["a file that does not fit", new SpecError("flow.yaml", []), 3],
  ["a model that fails", new ProviderError("no"), 10],
  ["an engine that does not start", new GloveboxError("executor_lost", "no"), 10],
  ["an artifact that is not written", new ArtifactError("no"), 12],
  ["a pattern that is not there", new UnsupportedError("no"), 18],
  ["an error of nobody's", new TypeError("no"), 70],
  ["what is thrown and is no error", "no", 70],
  ["what a command says itself", new CliError(2, "no"), 2],
])("%s ends a workflow's command with its own code [D73]", async (_what, thrown, exitCode) => {
  const ending = orExit(() => Promise.reject(thrown));
  await expect(ending).rejects.toBeInstanceOf(CliError);
  await expect(ending).rejects.toMatchObject({ exitCode });
});

test("a workflow is known by its file's ending", () => {
  expect(["a.yaml", "./b/c.YML", "tool.js", "yaml", "a.yaml.js"].map(isWorkflow)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
