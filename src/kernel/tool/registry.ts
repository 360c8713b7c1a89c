import { GloveboxError } from "../base/errors.ts";
import { OPERATOR } from "../broker/policy.ts";
import type { ToolInfo } from "./definition.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** Maximum number of tools in one engine. */
export const MAX_TOOLS = 10_000;
/** Maximum number of tools of one registrant, which leaves room for others. The operator has no share. */
export const REGISTRANT_TOOLS = MAX_TOOLS / 4;
/** Maximum length of the scripts, source maps and checks of one registrant's tools, in UTF-16 units. */
export const REGISTRANT_CHARS = 256 * 1024 * 1024;
/** Memory of a schema as objects, for a character of the code that checks it. */
const CHECKS_WEIGHT = 10;

/** Number and size of the tools of one registrant. */
interface Holding {
  readonly tools: number;
  readonly chars: number;
}

const NOTHING: Holding = { tools: 0, chars: 0 };

type ToolsByName = Map<string, RegisteredTool>;

/** The tools of an engine, by name: those of all tenants, and those of one tenant each. */
export class ToolRegistry {
  readonly #tools: ToolsByName = new Map();
  readonly #ofTenants = new Map<string, ToolsByName>();
  readonly #held = new Map<string, Holding>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The tool that a tenant's call finds: its own, else that of all tenants. Default: only that of all. */
  get(name: string, tenant = ""): RegisteredTool | undefined {
    return this.#ofTenants.get(tenant)?.get(name) ?? this.#tools.get(name);
  }

  /**
   * Throws if there is no room for all of these, in the engine or in the share of their registrant; tools take the room
   * of those that they replace.
   */
  requireRoom(tools: readonly RegisteredTool[]): void {
    const added = new Set(tools.filter(({ info }) => this.#same(info) === undefined).map(({ info }) => info.name));
    const [name] = added;
    if (name !== undefined && this.#size + added.size > MAX_TOOLS) {
      throw noRoom(name, `the engine has ${this.#size} tools, the limit is ${MAX_TOOLS}`);
    }
    for (const [registrant, own] of Map.groupBy(tools, ({ info }) => info.registrant)) {
      if (registrant !== OPERATOR) this.#requireShare(registrant, own);
    }
  }

  #requireShare(registrant: string, tools: readonly RegisteredTool[]): void {
    let held = this.#held.get(registrant) ?? NOTHING;
    for (const tool of new Map(tools.map((one) => [one.info.name, one])).values()) {
      const { name } = tool.info;
      const old = this.#same(tool.info);
      held = plus(old?.info.registrant === registrant ? minus(held, old) : held, tool);
      if (held.tools > REGISTRANT_TOOLS) throw noRoom(name, `a registrant may have ${REGISTRANT_TOOLS} tools`);
      if (held.chars > REGISTRANT_CHARS) {
        throw noRoom(name, `the tools of a registrant may have ${REGISTRANT_CHARS} characters together`);
      }
    }
  }

  /** Throws if one of these would replace the tool of another registrant. The operator may replace any. */
  requireOwn(tools: readonly RegisteredTool[]): void {
    for (const { info } of tools) {
      const { name, registrant } = info;
      const owner = this.#same(info)?.info.registrant ?? registrant;
      if (owner === registrant || registrant === OPERATOR) continue;
      const message = `tool "${name}" belongs to another registrant; choose another name`;
      throw new GloveboxError("forbidden", message);
    }
  }

  /** Adds a tool or atomically replaces the one of the same name. */
  set(tool: RegisteredTool): void {
    this.requireRoom([tool]);
    const { name, registrant, tenant } = tool.info;
    this.delete(name, tenant);
    this.#placeOf(tenant).set(name, tool);
    this.#size++;
    this.#held.set(registrant, plus(this.#held.get(registrant) ?? NOTHING, tool));
  }

  /** Returns whether the tool existed. `tenant`: the owner of the tool. */
  delete(name: string, tenant?: string): boolean {
    const tool = this.#same({ name, tenant });
    if (tool === undefined) return false;
    const { registrant } = tool.info;
    const left = minus(this.#held.get(registrant) ?? NOTHING, tool);
    if (left.tools === 0) this.#held.delete(registrant);
    else this.#held.set(registrant, left);
    this.#size--;
    const place = this.#placeOf(tenant);
    place.delete(name);
    if (tenant !== undefined && place.size === 0) this.#ofTenants.delete(tenant);
    return true;
  }

  /** The tools of all tenants, in no order. */
  all(): RegisteredTool[] {
    return [this.#tools, ...this.#ofTenants.values()].flatMap((tools) => [...tools.values()]);
  }

  /** The tools that a tenant's calls find, sorted by name. Default: those of all tenants. */
  list(tenant = ""): ToolInfo[] {
    const own = this.#ofTenants.get(tenant);
    const found = own === undefined ? this.#tools : new Map([...this.#tools, ...own]);
    return [...found.values()]
      .map((tool) => tool.info)
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  /** The tool of the same name and tenant. */
  #same({
    name,
    tenant,
  }: Pick<ToolInfo, "name"> & { readonly tenant?: string | undefined }): RegisteredTool | undefined {
    return (tenant === undefined ? this.#tools : this.#ofTenants.get(tenant))?.get(name);
  }

  #placeOf(tenant: string | undefined): ToolsByName {
    if (tenant === undefined) return this.#tools;
    const place: ToolsByName = this.#ofTenants.get(tenant) ?? new Map();
    this.#ofTenants.set(tenant, place);
    return place;
  }
}

function plus({ tools, chars }: Holding, tool: RegisteredTool): Holding {
  return { tools: tools + 1, chars: chars + charsOf(tool) };
}

function minus({ tools, chars }: Holding, tool: RegisteredTool): Holding {
  return { tools: tools - 1, chars: chars - charsOf(tool) };
}

function charsOf({ script: { text, checks }, sourceMap }: RegisteredTool): number {
  return text.length + sourceMap.length + CHECKS_WEIGHT * (checks.input.length + checks.output.length);
}

function noRoom(name: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `tool "${name}" cannot be registered: ${problem}; unregister others first`);
}
