import { matchesName, narrowerOf } from "../../base/name-patterns.ts";
import { CapabilityRefusal, type GrantKind } from "./capability.ts";

const NAMES_MAX = 1_000;
const NAME_MAX = 256;

/** Grants that are lists of names, each of which may end in `*`: secrets, tools, environment variables. */
export const nameGrants: GrantKind<readonly string[]> = {
  read(value) {
    if (!Array.isArray(value) || value.length > NAMES_MAX)
      throw new TypeError(`: is a list of at most ${NAMES_MAX} names`);
    return value.map((name: unknown, at) => {
      if (typeof name === "string" && name !== "" && name.length <= NAME_MAX) return name;
      throw new TypeError(`/${at}: is a name of 1 to ${NAME_MAX} characters, which may end in *`);
    });
  },

  meet(asked, allowed) {
    const both = asked.flatMap((one) => allowed.flatMap((other) => narrowerOf(one, other) ?? []));
    return both.length === 0 ? null : [...new Set(both)];
  },

  uncovered(asked, granted) {
    const all = granted.flat();
    return asked.flatMap((name, at) =>
      all.some((one) => narrowerOf(name, one) === name) ? [] : [{ pointer: `/${at}`, asked: `"${name}"` }],
    );
  },

  describe: (names) => names.map((name) => `"${name}"`).join(", "),
};

/** Grants all methods of a capability, or none. */
export const wholeGrants: GrantKind<true> = {
  read: (value) => {
    // A truthy value such as "no" or an empty list is not a grant.
    if (value === true) return true;
    throw new TypeError(": is true");
  },
  meet: (_asked, allowed) => allowed,
  uncovered: (_asked, granted) => (granted.length > 0 ? [] : [{ pointer: "", asked: "the capability" }]),
  describe: () => "all of its methods",
};

/** Throws a `CapabilityRefusal` for a name that no grant covers. `kind` is the noun for the name in messages. */
export function requireGranted(capability: string, kind: string, name: string, names: readonly string[]): void {
  if (names.some((pattern) => matchesName(pattern, name))) return;
  throw new CapabilityRefusal("denied", `the ${kind} "${name}" was not granted`, {
    asked: `${capability} "${name}"`,
    granted: `${capability} ${nameGrants.describe(names)}`,
    remedy: `add "${name}" to capabilities.${capability} of the tool, and to allow.${capability} of a policy rule`,
  });
}
