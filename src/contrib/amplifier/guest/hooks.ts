/** A hook's decision about an event, in Amplifier's names. */
interface HookResult {
  readonly action: string;
  readonly data?: unknown;
}

interface Entry {
  readonly priority: number;
  readonly name: string;
  readonly handler: (event: string, data: unknown) => unknown;
}

const HANDLERS_MAX = 1_000;

/** Hooks that a module registers on the events of its own coordinator: `handler(event, data)` answers with a decision. */
export class HookRegistry {
  readonly #handlers = new Map<string, readonly Entry[]>();
  #count = 0;

  /** Returns a function that removes the handler. */
  register(
    event: unknown,
    handler: unknown,
    options?: { readonly priority?: number; readonly name?: string },
  ): () => void {
    if (typeof handler !== "function") throw new TypeError("a hook must be a function (event, data)");
    if (++this.#count > HANDLERS_MAX) throw new RangeError(`more than ${HANDLERS_MAX} hooks are registered`);
    const { priority = 0, name = handler.name } = options ?? {};
    const entry: Entry = { priority, name, handler: handler as Entry["handler"] };
    const key = `${event as string}`;
    const entries = [...(this.#handlers.get(key) ?? []), entry];
    this.#handlers.set(
      key,
      entries.sort((one, other) => one.priority - other.priority),
    );
    return () => this.#keep((one) => one !== entry);
  }

  on(event: unknown, handler: unknown, options?: { readonly priority?: number; readonly name?: string }): () => void {
    return this.register(event, handler, options);
  }

  unregister(name: unknown): void {
    this.#keep((one) => one.name !== name);
  }

  /** `deny` ends the handlers' turn, `modify` changes the data for the next. A handler that throws stops no other. */
  async emit(event: unknown, data: unknown = {}): Promise<HookResult> {
    let current = data;
    let asked: HookResult | undefined;
    for (const { handler } of this.#handlers.get(`${event as string}`) ?? []) {
      const result = await decisionOf(handler, `${event as string}`, current);
      if (result?.action === "deny") return result;
      if (result?.action === "modify" && result.data !== undefined) current = result.data;
      if (result?.action === "ask_user" || result?.action === "inject_context") asked ??= result;
    }
    return asked ?? { action: "continue", data: current };
  }

  #keep(isKept: (entry: Entry) => boolean): void {
    for (const [event, entries] of this.#handlers) {
      const kept = entries.filter(isKept);
      this.#count -= entries.length - kept.length;
      this.#handlers.set(event, kept);
    }
  }
}

async function decisionOf(handler: Entry["handler"], event: string, data: unknown): Promise<HookResult | undefined> {
  try {
    const result = await handler(event, data);
    return typeof result === "object" && result !== null && "action" in result ? (result as HookResult) : undefined;
  } catch {
    return undefined;
  }
}
