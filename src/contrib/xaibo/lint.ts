import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import { xaibo } from "./contract/xaibo.ts";
import { isObject, pointerSegment } from "../../kernel/base/json.ts";

/** A problem of a provider's tools. */
export interface LintFinding {
  /** `error`: the tool cannot be used as intended. */
  readonly severity: "error" | "warning";
  /** JSON pointer into the list of tools. */
  readonly pointer: string;
  readonly message: string;
}

type Fields = { readonly [key: string]: unknown };

const DESCRIPTION_LENGTH_LEAST = 10;

/** Verbs with which names of tools begin, so that a model recognizes the action. */
const VERBS = new Set(
  (
    "add analyze append apply approve archive ask assign book build calculate call cancel capture check clear close " +
    "collect compare compile complete compress compute confirm connect convert copy count create crop decode decrypt " +
    "delete deploy describe detect diff disable download draw echo edit enable encode encrypt estimate evaluate execute " +
    "explain export extract fetch filter find fix format forward generate get grep group hash import insert inspect " +
    "install invite invoke join launch list load lock log lookup make map mark match measure merge monitor move notify " +
    "open order parse pause pay ping plan play poll post predict preview print process publish pull push put query rank " +
    "read rebuild recommend record refresh register reject release remove rename render repeat replace reply report " +
    "request reserve reset resize resolve restart restore resume retrieve revert review rotate run sample save scale scan " +
    "schedule scrape search select send set shorten show sign sleep slugify solve sort split start stop store submit " +
    "subscribe suggest sum summarize sync tag tell test track train transcribe transform translate trigger trim " +
    "unlock unsubscribe update upload upsert validate verify view wait watch write"
  ).split(" "),
);

/** Matches descriptions that list choices: `one of a, b`, `"a" or "b"`, `a | b | c`. */
const CHOICES = /\b(?:one of|either)\b|["'`][^"'`]+["'`]\s*(?:,|or|\|)\s*(?:or\s+)?["'`]|\w+\s*\|\s*\w+/i;

/**
 * Finds invalid tools of a provider, and violations of the document's advice. Errors: invalid definitions, duplicate
 * names, defaults that do not fit. Warnings: a name without a verb or not in snake_case, a description with too little
 * information, a parameter without a description or without `required`, choices listed in the description instead of an
 * enum.
 */
export function lintTools(tools: unknown): readonly LintFinding[] {
  if (!Array.isArray(tools)) return [{ severity: "error", pointer: "", message: "must be a list of tools" }];
  const places = new Map<string, number>();
  return tools.flatMap((tool: unknown, at) => {
    const pointer = `/${at}`;
    const findings: LintFinding[] = [];
    try {
      const { name, description } = xaibo.readTool(tool);
      const other = places.get(name);
      if (other !== undefined) findings.push(error(`${pointer}/name`, `is "${name}", as is the name of tool ${other}`));
      else places.set(name, at);
      findings.push(
        ...lintName(name, `${pointer}/name`),
        ...lintDescription(description, name, `${pointer}/description`),
      );
    } catch (thrown) {
      if (!(thrown instanceof ContractError)) throw thrown;
      findings.push(error(pointer + thrown.pointer, thrown.message.replace(/^xaibo [^:]*: /, "")));
    }
    const parameters = fieldsOf(fieldsOf(tool)["parameters"]);
    for (const [name, parameter] of Object.entries(parameters)) {
      findings.push(...lintParameter(fieldsOf(parameter), `${pointer}/parameters${pointerSegment(name)}`));
    }
    return findings;
  });
}

function lintName(name: string, pointer: string): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  const [verb = ""] = name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_.-]/);
  if (!VERBS.has(verb))
    findings.push(warning(pointer, `"${name}" does not begin with what the tool does: get_…, send_…`));
  if (!/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/.test(name)) findings.push(warning(pointer, `"${name}" is not in snake_case`));
  return findings;
}

function lintDescription(description: string, name: string, pointer: string): readonly LintFinding[] {
  const plain = description.trim();
  if (plain.length >= DESCRIPTION_LENGTH_LEAST && plain !== name) return [];
  return [warning(pointer, "does not say what the tool does and when to use it")];
}

function lintParameter(parameter: Fields, pointer: string): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  const { description, required, type, enum: allowed } = parameter;
  if (typeof description !== "string" || description.trim() === "") {
    findings.push(warning(`${pointer}/description`, "is missing: say what to give"));
  } else if (type === "string" && !Array.isArray(allowed) && CHOICES.test(description)) {
    findings.push(warning(`${pointer}/enum`, "is missing: the description names a few choices"));
  }
  if (typeof required !== "boolean") {
    findings.push(warning(`${pointer}/required`, "is missing: say whether it has to be given"));
  }
  return findings;
}

function error(pointer: string, message: string): LintFinding {
  return { severity: "error", pointer, message };
}

function warning(pointer: string, message: string): LintFinding {
  return { severity: "warning", pointer, message };
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
