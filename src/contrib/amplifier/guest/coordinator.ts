import { isObject } from "../../../kernel/guest/contracts/adapter.ts";
import { HookRegistry } from "./hooks.ts";

/** An object that a module has mounted. */
export interface Mounted {
  readonly mount_point: string;
  readonly name: string;
  readonly module: unknown;
}

/** All registrations of a module with its coordinator. */
export interface Coordination {
  readonly face: Coordinator;
  readonly mounted: readonly Mounted[];
  readonly contributors: { readonly channel: string; readonly name: string; readonly values: unknown }[];
  /** Functions that run at the end of modules. */
  readonly cleanups: unknown[];
}

/** Null-prototype objects: names are the module's. */
interface MountPoints {
  [point: string]: { [name: string]: unknown };
}

const MOUNTS_MAX = 1_000;

function place(): MountPoints[string] {
  return Object.create(null) as MountPoints[string];
}

/** Creates a coordinator. Kept cheap, because every call of a tool mounts its module. */
export function coordinate(config: object): Coordination {
  const told = { contributors: [], cleanups: [] };
  const face = new Coordinator(config, told);
  return {
    face,
    ...told,
    get mounted() {
      return Object.entries(face.mount_points).flatMap(([mount_point, place]) =>
        Object.entries(place).map(([name, module]) => ({ mount_point, name, module })),
      );
    },
  };
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

/** Amplifier's coordinator for a module mounted inside an isolate: it records registrations. */
export class Coordinator {
  readonly config: object;
  readonly session_id = "";
  readonly parent_id = null;
  /** Mounted objects, by point and name. A module may mount by writing into it. */
  readonly mount_points: MountPoints;
  readonly #told: Omit<Coordination, "face" | "mounted">;
  #hooks: HookRegistry | null = null;
  #capabilities: Map<string, unknown> | null = null;

  constructor(config: object, told: Omit<Coordination, "face" | "mounted">) {
    this.config = config;
    this.#told = told;
    this.mount_points = Object.assign(Object.create(null) as MountPoints, { tools: place() });
  }

  get hooks(): HookRegistry {
    return (this.#hooks ??= new HookRegistry());
  }

  async mount(point: unknown, module: unknown, options?: unknown): Promise<void> {
    const modules = (this.mount_points[`${point as string}`] ??= place());
    const name = nameFrom(options, module);
    // Mounting under the same name again replaces the earlier module; the newest is the last.
    delete modules[name];
    if (Object.keys(modules).length >= MOUNTS_MAX) throw new RangeError(`more than ${MOUNTS_MAX} things are mounted`);
    modules[name] = module;
  }

  async unmount(point: unknown, options?: unknown): Promise<void> {
    const modules = this.mount_points[`${point as string}`];
    if (modules === undefined) return;
    const name = nameFrom(options, undefined);
    for (const each of name === "" ? Object.keys(modules) : [name]) delete modules[each];
  }

  get(point: unknown, name?: unknown): unknown {
    const modules = this.mount_points[`${point as string}`] ?? {};
    return typeof name === "string" ? (modules[name] ?? null) : { ...modules };
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
