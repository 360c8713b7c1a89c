import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { ERROR_TEXTS } from "../../docs/generate/error-texts.ts";
import { createProgram } from "../../src/cli/program.ts";
import { ERRORS, type ErrorCode } from "../../src/kernel/base/errors.ts";
import type { ExecuteOptions, ToolDefinition } from "../../src/glovebox/index.ts";
import { ROOT } from "./linked-folder.ts";

const CODES = Object.keys(ERRORS) as readonly ErrorCode[];
/** Names that a program writes, beside those of settings. */
const OPTIONS: readonly (keyof ExecuteOptions)[] = ["idempotencyKey", "pause", "retries", "signal"];
const MEMBERS: readonly (keyof ToolDefinition)[] = ["inputSchema", "outputSchema"];
const REFERENCE = join(ROOT, "docs/reference");
const read = (name: string): string => readFileSync(join(REFERENCE, name), "utf8");
const headings = new Set(
  `${read("http.md")}\n${read("events.md")}`.split("\n").filter((line) => line.startsWith("## ")),
);
const settings: unknown = JSON.parse(read("config.schema.json"));
const program = createProgram();

/** Whether there is a setting of this path, such as `limits.cpuMs`. */
function isSetting(path: string): boolean {
  let part: unknown = settings;
  for (const name of path.split("."))
    part = (part as { properties?: Record<string, unknown> } | undefined)?.properties?.[name];
  return part !== undefined;
}

function isCommand(text: string): boolean {
  const [name, ...words] = text.split(" ");
  const below = (from: Command | undefined, word: string): Command | undefined =>
    from?.commands.find((command) => command.name() === word);
  const found = words.reduce<Command | undefined>(below, program);
  if (text === "npm install") return true;
  return name === "glovebox" && words.length > 0 && found?.commands.length === 0;
}

function isKnown(name: string): boolean {
  if ([...OPTIONS, ...MEMBERS].some((one) => one === name)) return true;
  return isSetting(name) || isCommand(name) || headings.has(`## \`${name}\``);
}

describe.each(CODES)("%s", (code) => {
  const { advice } = ERRORS[code];
  const named = [...advice.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

  test("says what to do by a command, a setting, an option, a route or an event that there is", () => {
    expect(named.filter(isKnown), advice).not.toEqual([]);
  });

  test("names no command and no limit that there is not, and has a page", () => {
    const checked = named.filter((name) => /^glovebox |^(?:limits|queue|policy)\./.test(name));
    expect(checked.filter((name) => !isKnown(name))).toEqual([]);
    expect(existsSync(join(REFERENCE, `errors/${code}.md`))).toBe(true);
  });
});

test.each([
  ["input_too_large", "limits.inputBytes"],
  ["queue_timeout", "limits.queueMs"],
  ["cpu_limit", "limits.cpuMs"],
  ["wall_limit", "limits.wallMs"],
  ["memory_limit", "limits.memoryMb"],
  ["output_too_large", "limits.outputBytes"],
  ["capability_limit", "limits.capabilityCalls"],
] as const)("the message of %s itself names %s", (code, setting) => {
  expect(ERROR_TEXTS[code].message).toContain(setting);
  expect(ERRORS[code].advice).toContain(`\`${setting}\``);
});
