import type { OnDemand } from "../../base/on-demand.ts";
import { within } from "../../base/deadline.ts";
import type { SnippetAuthor, SnippetDefinition, Snippets, Snippet } from "./snippet.ts";
import type { StoredSnippets } from "./stored-snippets.ts";

/** Longest wait of an engine's start for the tools of its snippets, which are registered later where it takes longer. */
const START_MS = 5_000;

/** Snippets as the engine shows them: nothing of them is loaded before somebody asks for them, or there may be some. */
export class SnippetStage implements Snippets {
  readonly #loaded: OnDemand<StoredSnippets>;

  constructor(loaded: OnDemand<StoredSnippets>) {
    this.#loaded = loaded;
  }

  async start(): Promise<void> {
    const snippets = await this.#loaded.get();
    await within(START_MS, snippets.start());
  }

  async close(): Promise<void> {
    await (await this.#loaded.made)?.close();
  }

  async save(definition: SnippetDefinition, author?: SnippetAuthor): Promise<Snippet> {
    return (await this.#loaded.get()).save(definition, author);
  }

  async list(whose?: Pick<SnippetAuthor, "tenant">): Promise<readonly Snippet[]> {
    return (await this.#loaded.get()).list(whose);
  }

  async get(name: string, whose?: Pick<SnippetAuthor, "tenant">): Promise<Snippet | undefined> {
    return (await this.#loaded.get()).get(name, whose);
  }

  async delete(name: string, whose?: SnippetAuthor): Promise<boolean> {
    return (await this.#loaded.get()).delete(name, whose);
  }
}
