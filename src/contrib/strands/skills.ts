import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { toolError } from "../../kernel/base/errors.ts";
import { emptyMetadata, failure, success } from "../../kernel/base/result.ts";
import type { AgentTools } from "./agent.ts";
import type { Skill } from "./workflow.ts";

const MODULES_MAX = 64;
const MODULE_BYTES_MAX = 256 * 1024;
const MAIN = ["SKILL.md", "README.md"] as const;
const TOOL = "Skill";

/** A skill as a workflow's file has it. */
export interface WrittenSkill {
  readonly id: string;
  readonly path: string;
  readonly description?: string;
}

/** Reads the skills of a file, from folders below its own. One that cannot be read has no modules. */
export function readSkills(written: readonly WrittenSkill[], folder: string): Promise<readonly Skill[]> {
  return Promise.all(
    written.map(async ({ id, path: given, description = "" }) => ({
      id,
      description,
      modules: await readModules(given, folder).catch(() => ({})),
    })),
  );
}

async function readModules(given: string, folder: string): Promise<Skill["modules"]> {
  const modules = Object.create(null) as Record<string, string>;
  const [root, place] = [await realpath(folder), await realpath(path.resolve(folder, given))];
  if (!place.startsWith(root + path.sep)) return modules;
  const names = (await readdir(place)).filter((name) => name.endsWith(".md")).toSorted();
  const main = MAIN.find((name) => names.includes(name));
  for (const name of names.slice(0, MODULES_MAX)) {
    const file = path.join(place, name);
    const found = await lstat(file);
    if (!found.isFile() || found.size > MODULE_BYTES_MAX) continue;
    const text = await readFile(file, "utf8");
    if (name === main) modules[""] = text;
    if (!MAIN.some((one) => one === name)) modules[name.slice(0, -".md".length)] = text;
  }
  return modules;
}

/** An agent's prompt with the list of skills. */
export function withSkillList(prompt: string, skills: readonly Skill[]): string {
  if (skills.length === 0) return prompt;
  const list = skills.map(({ id, description }) => `- **${id}**${description === "" ? "" : `: ${description}`}`);
  return [
    `${prompt}\n\n# How to Use Skills\n`,
    `Call the tool ${TOOL} with the skill_id of a skill that helps with the task, and follow its instructions.`,
    "Load only skills of this list, and each only once.\n\n# Available Skills\n",
    ...list,
  ].join("\n");
}

/** An agent's tools with the one that loads skills. */
export function withSkillTool(tools: AgentTools, skills: readonly Skill[]): AgentTools {
  if (skills.length === 0) return tools;
  const description = `Loads the instructions of a skill, or of a part of it: "skill", "skill/part".`;
  const inputSchema = { type: "object", properties: { skill_id: { type: "string" } }, required: ["skill_id"] };
  return {
    get descriptions() {
      return [...tools.descriptions, { name: TOOL, description, inputSchema }];
    },
    call: async (call, signal) => {
      if (call.name !== TOOL) return tools.call(call, signal);
      const metadata = emptyMetadata(call.id, TOOL, 0);
      const found = textOf(call.arguments["skill_id"], skills);
      if ("text" in found) return success(found.text, metadata);
      return failure(toolError("tool_error", found.problem, undefined, "SkillError"), metadata);
    },
  };
}

function textOf(asked: unknown, skills: readonly Skill[]): { readonly text: string } | { readonly problem: string } {
  if (typeof asked !== "string" || asked === "") return { problem: "skill_id has to name a skill" };
  const [id = "", ...rest] = asked.split("/");
  const skill = skills.find((one) => one.id === id);
  if (skill === undefined)
    return { problem: `there is no such skill; there are ${skills.map((one) => one.id).join(", ")}` };
  const text = Object.hasOwn(skill.modules, rest.join("/")) ? skill.modules[rest.join("/")] : undefined;
  if (text !== undefined) return { text };
  const parts = Object.keys(skill.modules).filter((name) => name !== "");
  return { problem: `the skill ${id} has no such part; it has ${parts.length === 0 ? "no parts" : parts.join(", ")}` };
}
