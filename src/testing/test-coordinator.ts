/** A mount or an unmount, with its name. */
export interface MountRecord {
  readonly mount_point: string;
  readonly name: string;
}

/** `{ name }`, or the name itself. */
export type NameOption = string | { readonly name?: string } | undefined;

/**
 * Amplifier's coordinator for tests of a module: pass it to `mount(coordinator, config)` in the author's own process;
 * it records the module's actions.
 */
export class TestCoordinator implements AsyncDisposable {
  readonly config: Readonly<Record<string, unknown>>;
  readonly session_id = "test";
  /** All mounts in order, including those unmounted since. */
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

  /** Mounts a module under a name, by default its own. Replaces the previous mount of that name. */
  async mount(point: string, module: unknown, option?: NameOption): Promise<void> {
    const name = nameIn(option) ?? ownName(module);
    if (name === undefined) throw new TypeError(`what is mounted at "${point}" has no name, and is given none`);
    this.mount_history.push({ mount_point: point, name });
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    this.#mounted.set(point, there.set(name, module));
  }

  /** Unmounts a name; without a name, all modules at the mount point. */
  async unmount(point: string, option?: NameOption): Promise<void> {
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    const name = nameIn(option);
    for (const one of name === undefined ? [...there.keys()] : [name]) {
      if (there.delete(one)) this.unmount_history.push({ mount_point: point, name: one });
    }
  }

  /** The mount with a name, or `null`; without a name, all mounts of the point by name. */
  get(point: string): ReadonlyMap<string, unknown>;
  get(point: string, name: string): unknown;
  get(point: string, name?: string): unknown {
    const there = this.#mounted.get(point) ?? new Map<string, unknown>();
    return name === undefined ? new Map(there) : (there.get(name) ?? null);
  }

  /** `contribute` is called by `collect_contributions`. */
  register_contributor(channel: string, name: string, contribute: () => unknown): void {
    this.#contributors.push({ channel, name, contribute });
  }

  /** Contributions to a channel in one flat list. A contributor that throws contributes nothing and blocks no other. */
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

  /** If `mount` returns a cleanup function, its caller must register it here. */
  register_cleanup(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /** Runs each cleanup once, the last first. A cleanup that throws does not stop the others. */
  async cleanup(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).toReversed()) {
      try {
        await cleanup();
      } catch {
        // Continue with the remaining cleanups.
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
