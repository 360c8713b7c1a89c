import type { OnDemand } from "../../base/on-demand.ts";
import { within } from "../../base/deadline.ts";
import type { SnippetAuthor, SnippetDefinition, Snippets, Snippet } from "./snippet.ts";
import type { StoredSnippets } from "./stored-snippets.ts";

/** Maximum wait of an engine's start for the tools of its snippets; slower ones are registered later. */
const START_MS = 5_000;

/** Snippets of the engine. Nothing is loaded before the first request for them, unless there may be some. */
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
