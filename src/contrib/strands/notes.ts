import { lstat, open } from "node:fs/promises";
import path from "node:path";
import { isObject, memberOf } from "../../kernel/base/json.ts";
import { requireWritable, writeArtifact } from "./artifacts.ts";

const INCLUDED = 12;
const SHOWN_MAX = 200;
/** Only the end of longer notes is read, and kept. */
const FILE_MAX = 1024 * 1024;

/** Settings of a workflow's notes. */
export interface NotesPolicy {
  readonly file: string;
  /** Number of the last notes that agents see. */
  readonly includeLast: number;
  readonly format: "markdown" | "json";
}

/** A completed run of an agent, as a note has it. */
interface NotedStep {
  readonly agent: string;
  readonly response: string;
  readonly calls: readonly { readonly name: string }[];
}

/** The notes in a workflow's `context_policy`, if it has any. */
export function notesPolicy(contextPolicy: unknown): NotesPolicy | null {
  const notes = memberOf(contextPolicy, "notes");
  if (!isObject(notes)) return null;
  const { file, include_last, format } = notes;
  if (typeof file !== "string") return null;
  return {
    file,
    includeLast: typeof include_last === "number" ? Math.max(1, Math.floor(include_last)) : INCLUDED,
    format: format === "json" ? "json" : "markdown",
  };
}

/** Notes of a workflow's steps, in a file that later runs continue. Agents see the last ones. */
export class Notes {
  readonly #policy: NotesPolicy;
  readonly #folder: string;
  readonly #entries: string[];
  #steps = 0;

  private constructor(policy: NotesPolicy, folder: string, entries: readonly string[]) {
    this.#policy = policy;
    this.#folder = folder;
    this.#entries = [...entries];
  }

  /** Reads the notes of earlier runs. Rejects with an `ArtifactError` if the file cannot be a note's. */
  static async open(policy: NotesPolicy, folder: string): Promise<Notes> {
    await requireWritable(policy.file, { folder, force: true });
    const text = await endOf(path.join(folder, policy.file));
    const entries = policy.format === "json" ? text.split("\n") : text.split(/^(?=## )/m);
    return new Notes(
      policy,
      folder,
      entries.map((entry) => entry.trim()).filter((entry) => entry !== ""),
    );
  }

  /** An agent's prompt with the last notes. */
  added(prompt: string): string {
    const last = this.#entries.slice(-this.#policy.includeLast);
    return last.length === 0 ? prompt : `${prompt}\n\n# Previous Workflow Steps\n${last.join("\n\n")}`;
  }

  note({ agent, response, calls }: NotedStep, input: string): void {
    const timestamp = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const step = ++this.#steps;
    const tools = [...new Set(calls.map(({ name }) => name))];
    this.#entries.push(
      this.#policy.format === "json"
        ? JSON.stringify({ timestamp, agent, step, input, tools_used: tools, outcome: response })
        : [
            `## [${timestamp}] — Agent: ${agent} (Step ${step})`,
            `- **Input**: ${shown(input)}`,
            `- **Tools used**: ${tools.length === 0 ? "None" : tools.join(", ")}`,
            `- **Outcome**: ${shown(response)}`,
          ].join("\n"),
    );
  }

  /** Writes the notes. Rejects with an `ArtifactError`. */
  async write(): Promise<void> {
    if (this.#steps === 0) return;
    const text = `${this.#entries.join("\n\n")}\n`;
    await writeArtifact(this.#policy.file, text, { folder: this.#folder, force: true });
  }
}

/** A text on one line, so that no part of it begins another note. */
function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}...` : line;
}

async function endOf(file: string): Promise<string> {
  const found = await lstat(file).catch(() => null);
  if (found?.isFile() !== true) return "";
  await using handle = await open(file, "r");
  const start = Math.max(0, found.size - FILE_MAX);
  const buffer = Buffer.alloc(found.size - start);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
  return buffer.toString("utf8", 0, bytesRead);
}
