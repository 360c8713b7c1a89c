import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { RuleOffer } from "../kernel/broker/rule-offer.ts";
import { chosenConfig } from "../server/config/config-file.ts";
import { asYaml, withRule } from "./config-rule.ts";
import { EXIT } from "./exit.ts";
import { lineDiff } from "./line-diff.ts";
import { print, printJson, say } from "./output.ts";

interface Options {
  readonly config?: string;
  readonly apply?: true | undefined;
  readonly json?: true | undefined;
}

const NEW_FILE = "glovebox.config.yaml";

/** Prints the rule that a tool needs, or writes it into the configuration. Ends with 1 if a part needs a decision. */
export async function reportOffer({ rule, left }: RuleOffer, { config, apply, json }: Options): Promise<void> {
  if (left.length > 0) process.exitCode = EXIT.FAILED;
  const file = rule === null || apply !== true ? null : await addRule(rule, config, json === true);
  if (json === true) return printJson({ rule, left, file });
  for (const { pointer, reason } of left) say(`not offered: ${pointer}: ${reason}`);
  if (rule === null) return print("nothing to add: rules allow all else that the tool asks for");
  if (file === null) return print(asYaml(rule));
  say(`added to ${file}`);
}

async function addRule(
  rule: NonNullable<RuleOffer["rule"]>,
  given: string | undefined,
  isQuiet: boolean,
): Promise<string> {
  const named = await chosenConfig(given);
  const text = named === undefined ? "" : await readFile(named, "utf8");
  const changed = withRule(text, rule);
  const shown = named === undefined ? NEW_FILE : path.relative(process.cwd(), path.resolve(named));
  if (!isQuiet) for (const line of lineDiff(text, changed)) print(line);
  await writeFile(named ?? NEW_FILE, changed);
  return shown;
}
