import { isAmong } from "../base/name-patterns.ts";
import { OPERATOR } from "../broker/policy.ts";
import type { ToolScript } from "../base/protocol/script.ts";

/**
 * Calls that share executor processes with each other and with no other calls. A call belongs to the first group that
 * names its tenant and its tool's registrant; a missing list names all. Names may end in `*`.
 */
export interface TrustGroup {
  readonly name: string;
  readonly tenants?: readonly string[];
  readonly registrants?: readonly string[];
}

/** The operator's tools, and those that others registered. */
const TRUST_DEFAULT: readonly TrustGroup[] = [{ name: "own", registrants: [OPERATOR] }, { name: "brought" }];
/** Calls that no group names. */
const REST: TrustGroup = { name: "rest" };
const GROUPS_MAX = 16;
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const MEMBERS: readonly string[] = ["name", "tenants", "registrants"];

/** Validates groups, and adds one for calls that none of them names. Throws a `TypeError`. */
export function resolveTrust(given: unknown = TRUST_DEFAULT): readonly TrustGroup[] {
  if (!Array.isArray(given) || given.length > GROUPS_MAX) {
    throw new TypeError(`trust must be a list of ${GROUPS_MAX} groups at most`);
  }
  const groups = given.map((group: unknown, at) => readGroup(group, `trust[${at}]`));
  const names = groups.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new TypeError(`trust has two groups "${twice}"`);
  if (groups.some(({ tenants, registrants }) => tenants === undefined && registrants === undefined)) return groups;
  if (names.includes(REST.name)) throw new TypeError(`trust: "${REST.name}" is the group of calls that no group names`);
  return [...groups, REST];
}

function readGroup(group: unknown, place: string): TrustGroup {
  if (typeof group !== "object" || group === null) throw new TypeError(`${place} must be an object`);
  const unknown = Object.keys(group).find((key) => !MEMBERS.includes(key));
  if (unknown !== undefined) throw new TypeError(`${place}.${unknown.slice(0, 64)} is not a member of a group`);
  const { name, tenants, registrants } = group as Record<string, unknown>;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(`${place}.name must be 1 to 32 characters of a-z, 0-9 and -, the first a letter`);
  }
  return {
    name,
    ...(tenants === undefined ? {} : { tenants: readNames(tenants, `${place}.tenants`) }),
    ...(registrants === undefined ? {} : { registrants: readNames(registrants, `${place}.registrants`) }),
  };
}

function readNames(names: unknown, place: string): readonly string[] {
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return names;
  throw new TypeError(`${place} must be a list of texts`);
}

/**
 * The group of a tool's calls for a tenant. `tenant`: empty for calls without one, `null` for the inspection of the
 * tool's module, which belongs to no tenant's group.
 */
export function groupOf(
  groups: readonly TrustGroup[],
  { registrant = OPERATOR }: Pick<ToolScript, "registrant">,
  tenant: string | null,
): TrustGroup {
  return (
    groups.find(({ tenants, registrants }) => isAmong(registrants, registrant) && isAmong(tenants, tenant)) ?? REST
  );
}
