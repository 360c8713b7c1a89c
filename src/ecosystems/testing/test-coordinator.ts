/** What was mounted, or unmounted, and as what. */
export interface MountRecord {
  readonly mount_point: string;
  readonly name: string;
}

/** `{ name }`, or the name itself. */
export type NameOption = string | { readonly name?: string } | undefined;

/**
 * Amplifier's coordinator for the tests of a module: it is given to `mount(coordinator, config)` in the author's own
 * process, and remembers what the module did with it.
 */
export class TestCoordinator implements AsyncDisposable {
  readonly config: Readonly<Record<string, unknown>>;
  readonly session_id = "test";
  /** All mounts in their order, also of what was unmounted since. */
  readonly mount_history: MountRecord[] = [];
  readonly unmount_history: MountRecord[] = [];
  readonly #mounted = new Map<string, Map<string, unknown>>();
  readonly #contributors: { readonly channel: string; readonly name: string; readonly contribute: () => unknown }[] =
    [];
  readonly #capabilities = new Map<string, unknown>();
  readonly #cleanups: (() => unknown)[] = [];

  constructor(config: Readonly<Record<string, unknown>> = {}) {
    this.config = config;
  }

  /** Mounts something under a name; its own, where none is given. What had that name before is replaced. */
  async mount(point: string, module: unknown, option?: NameOption): Promise<void> {
    const name = nameIn(option) ?? ownName(module);
    if (name === undefined) throw new TypeError(`what is mounted at "${point}" has no name, and is given none`);
    this.mount_history.push({ mount_point: point, name });
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    this.#mounted.set(point, there.set(name, module));
  }

  /** Takes what has that name away; all that is mounted there, where no name is given. */
  async unmount(point: string, option?: NameOption): Promise<void> {
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    const name = nameIn(option);
    for (const one of name === undefined ? [...there.keys()] : [name]) {
      if (there.delete(one)) this.unmount_history.push({ mount_point: point, name: one });
    }
  }

  /** What is mounted under a name, or `null`; all that is mounted there by name, where none is given. */
  get(point: string): ReadonlyMap<string, unknown>;
  get(point: string, name: string): unknown;
  get(point: string, name?: string): unknown {
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    return name === undefined ? new Map(there) : (there.get(name) ?? null);
  }

  /** `contribute` is asked when somebody collects what the channel has. */
  register_contributor(channel: string, name: string, contribute: () => unknown): void {
    this.#contributors.push({ channel, name, contribute });
  }

  /** What the contributors of a channel have: lists in one. One that throws has nothing, and is in nobody's way. */
  collect_contributions(channel: string): unknown[] {
    return this.#contributors
      .filter((one) => one.channel === channel)
      .flatMap(({ contribute }) => {
        try {
          return contribute() ?? [];
        } catch {
          return [];
        }
      });
  }

  register_capability(name: string, value: unknown): void {
    this.#capabilities.set(name, value);
  }

  get_capability(name: string): unknown {
    return this.#capabilities.get(name) ?? null;
  }

  /** `mount` may return such a function as well: whoever called it hands it on. */
  register_cleanup(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /** Runs each cleanup once, the last first. One that throws keeps none from running. */
  async cleanup(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).toReversed()) {
      try {
        await cleanup();
      } catch {
        // The end comes all the same.
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cleanup();
  }
}

function nameIn(option: NameOption): string | undefined {
  return typeof option === "string" ? option : option?.name;
}

function ownName(module: unknown): string | undefined {
  const name: unknown = typeof module === "object" && module !== null ? Reflect.get(module, "name") : undefined;
  return typeof name === "string" ? name : undefined;
}
