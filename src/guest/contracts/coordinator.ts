import { isObject } from "./adapter.ts";

/** An object that a module has mounted. */
export interface Mounted {
  readonly mount_point: string;
  readonly name: string;
  readonly module: unknown;
}

/** Everything that a module registered with its coordinator. */
export interface Coordination {
  readonly face: Coordinator;
  readonly mounted: Mounted[];
  readonly contributors: { readonly channel: string; readonly name: string; readonly values: unknown }[];
  /** Functions that modules want to be run at their end. */
  readonly cleanups: unknown[];
}

const MOUNTS_MAX = 1_000;

/** Creates a coordinator. Kept cheap, because every call of a tool mounts its module. */
export function coordinate(config: object): Coordination {
  const told = { mounted: [], contributors: [], cleanups: [] };
  return { face: new Coordinator(config, told), ...told };
}

/** Runs the cleanups of modules, the last one first. A cleanup that throws does not stop the others. */
export async function endMounts({ cleanups }: Coordination): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) {
    try {
      if (typeof cleanup === "function") await Reflect.apply(cleanup, undefined, []);
    } catch {
      // The module's call or description has already ended.
    }
  }
}

/** Amplifier's coordinator, as a module mounted inside an isolate sees it: it records what is registered. */
export class Coordinator {
  readonly config: object;
  readonly session_id = "";
  readonly #told: Omit<Coordination, "face">;
  #capabilities: Map<string, unknown> | null = null;

  constructor(config: object, told: Omit<Coordination, "face">) {
    this.config = config;
    this.#told = told;
  }

  async mount(point: unknown, module: unknown, options?: unknown): Promise<void> {
    const { mounted } = this.#told;
    const mount = { mount_point: `${point as string}`, name: nameFrom(options, module), module };
    // Mounting under the same name again replaces the earlier module.
    const known = mounted.findIndex((one) => one.mount_point === mount.mount_point && one.name === mount.name);
    if (known >= 0) mounted.splice(known, 1);
    if (mounted.length >= MOUNTS_MAX) throw new RangeError(`more than ${MOUNTS_MAX} things are mounted`);
    mounted.push(mount);
  }

  async unmount(point: unknown, options?: unknown): Promise<void> {
    const { mounted } = this.#told;
    const name = nameFrom(options, undefined);
    const at = mounted.findIndex((one) => one.mount_point === point && (name === "" || one.name === name));
    if (at >= 0) mounted.splice(at, 1);
  }

  get(point: unknown, name?: unknown): unknown {
    const found = this.#told.mounted.filter((one) => one.mount_point === point);
    if (typeof name === "string") return found.find((one) => one.name === name)?.module ?? null;
    return Object.fromEntries(found.map((one) => [one.name, one.module]));
  }

  register_contributor(channel: unknown, name: unknown, contribute: unknown): void {
    const { contributors } = this.#told;
    if (contributors.length >= MOUNTS_MAX) throw new RangeError(`more than ${MOUNTS_MAX} contributors`);
    contributors.push({ channel: `${channel as string}`, name: `${name as string}`, values: valuesOf(contribute) });
  }

  register_cleanup(cleanup: unknown): void {
    this.#told.cleanups.push(cleanup);
  }

  register_capability(name: unknown, value: unknown): void {
    this.#capabilities ??= new Map();
    this.#capabilities.set(`${name as string}`, value);
  }

  get_capability(name: unknown): unknown {
    return this.#capabilities?.get(`${name as string}`) ?? null;
  }
}

/** `{ name }`, or the name itself; the module's own name if none is given. */
function nameFrom(options: unknown, module: unknown): string {
  const given: unknown = isObject(options) ? Reflect.get(options, "name") : options;
  if (typeof given === "string") return given;
  const own: unknown = isObject(module) ? Reflect.get(module, "name") : undefined;
  return typeof own === "string" ? own : "";
}

/** A contributor that throws contributes `null` and does not stop the others. */
function valuesOf(contribute: unknown): unknown {
  try {
    return typeof contribute === "function" ? (Reflect.apply(contribute, undefined, []) as unknown) : null;
  } catch {
    return null;
  }
}
