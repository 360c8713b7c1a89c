import path from "node:path";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { CODE } from "../../kernel/tool/package/layout.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { counts, isHashed, readRequirement, type Requirement, shownRequirement } from "./requirement.ts";

const FILE = `${CODE}/requirements.txt`;
const FILE_BYTES_MAX = 256 * 1024;
const REQUIREMENTS_MAX = 200;
const PINNED = /^===?[^*,]+$/;
const HASH = /^--hash[=\s]\s*sha256:([\da-f]{64})$/i;
/** Lines that pip supports, with the reason why they are refused here. */
const OPTIONS: readonly (readonly [RegExp, string])[] = [
  [/^(?:-r|-c|--requirement\b|--constraint\b)/, "names another file: write its lines into this one"],
  [/^(?:-e|--editable\b)/, "names a folder: put what it holds beside function.py"],
  [/^-/, "is an option of pip's that is not read here: leave it out"],
];

/** The requirements in `code/requirements.txt`; empty if it does not exist. Rejects with a `PackageError`. */
export async function readRequirements(root: string): Promise<readonly Requirement[]> {
  const bytes = await readFileAt(path.join(root, FILE), FILE, FILE_BYTES_MAX);
  return bytes === undefined ? [] : parseRequirements(bytes.toString("utf8"));
}

/** Parses a requirements file. Throws a `PackageError` that names the line. */
export function parseRequirements(text: string, file = FILE): readonly Requirement[] {
  const requirements: Requirement[] = [];
  for (const { line, number } of logicalLines(text)) {
    const requirement = readLine(line, `${file}, line ${number},`);
    if (counts(requirement, [])) requirements.push(requirement);
    if (requirements.length > REQUIREMENTS_MAX) {
      throw new PackageError(`${file} asks for more than ${REQUIREMENTS_MAX} packages`);
    }
  }
  if (requirements.some(isHashed)) for (const one of requirements) requirePinned(one);
  return requirements;
}

/** As in pip: if one requirement has hashes, all must have hashes and one version. */
function requirePinned(requirement: Requirement): void {
  if (isHashed(requirement) && PINNED.test(requirement.versions)) return;
  const missing = isHashed(requirement) ? "one version (name==1.2)" : "--hash=sha256:…";
  throw new PackageError(
    `${requirement.place} asks for ${shownRequirement(requirement)} without ${missing}: where a line has a hash, all must have both`,
  );
}

/** Joins lines that end in a backslash with the next one, and removes comments and empty lines. */
function logicalLines(text: string): readonly { readonly line: string; readonly number: number }[] {
  const lines: { line: string; number: number }[] = [];
  let begun = "";
  let number = 1;
  for (const [at, written] of text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .entries()) {
    if (begun === "") number = at + 1;
    const part = written.replace(/(?:^|\s)#.*$/s, "");
    if (part.endsWith("\\")) {
      begun += `${part.slice(0, -1)} `;
      continue;
    }
    const line = (begun + part).trim();
    begun = "";
    if (line !== "") lines.push({ line, number });
  }
  if (begun.trim() !== "") lines.push({ line: begun.trim(), number });
  return lines;
}

function readLine(line: string, place: string): Requirement {
  const [, problem] = OPTIONS.find(([option]) => option.test(line)) ?? [];
  if (problem !== undefined) throw new PackageError(`${place} has ${quoted(line)}, which ${problem}`);
  const [asked = "", ...options] = line.replaceAll(/\s+/g, " ").split(/ (?=--)/);
  const hashes = options.map((option) => {
    const [, hash] = HASH.exec(option.trim()) ?? [];
    if (hash !== undefined) return hash.toLowerCase();
    throw new PackageError(`${place} has ${quoted(option)}, which is not supported; only --hash=sha256:… is`);
  });
  return readRequirement(asked, place, hashes);
}
