import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DOCS = fileURLToPath(new URL("..", import.meta.url));
const KINDS = [
  ["Tutorials", "tutorials"],
  ["How-to guides", "how-to"],
  ["Runbooks", "how-to/runbooks"],
  ["Reference", "reference"],
  ["Errors", "reference/errors"],
  ["Explanation", "explanation"],
  ["Decisions", "decisions"],
] as const;
const SENTENCE_MAX = 300;

/** The map of the documentation for models (llmstxt.org). `generated`: pages that stand in no file yet, by their paths. */
export function llmsPage(generated: ReadonlyMap<string, string>): string {
  const sections = KINDS.map(([title, folder]) => {
    const names = new Set(readdirSync(join(DOCS, folder)));
    for (const path of generated.keys()) if (path.startsWith(`${folder}/`)) names.add(path.slice(folder.length + 1));
    const pages = [...names].filter((name) => name.endsWith(".md") && !name.includes("/")).toSorted();
    const lines = pages.map((name) => {
      const path = `${folder}/${name}`;
      return entryOf(path, generated.get(path) ?? readFileSync(join(DOCS, path), "utf8"));
    });
    return `## ${title}\n\n${lines.join("\n")}\n`;
  });
  return `# Glovebox\n\n> ${summary()}\n\n${sections.join("\n")}`;
}

/** The first sentence of the README. */
function summary(): string {
  return firstSentence(readFileSync(join(DOCS, "../README.md"), "utf8"));
}

function entryOf(path: string, text: string): string {
  const title = /^# (.*)$/m.exec(text)?.[1] ?? path;
  return `- [${title}](docs/${path}): ${firstSentence(text)}`;
}

/** The first sentence of a page's prose, without its links. */
function firstSentence(text: string): string {
  const prose = text.split("\n\n").find((part) => /^[A-Z`*[]/.test(part) && !part.startsWith("[!")) ?? "";
  const plain = prose
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "")
    .replaceAll("\n", " ");
  return (/^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain).slice(0, SENTENCE_MAX).replace(/:$/, ".");
}
