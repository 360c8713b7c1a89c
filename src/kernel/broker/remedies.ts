import { isObject, type JsonValue } from "../base/json.ts";
import { configRemedy, type Remedy, toolRemedy } from "../base/remedy.ts";
import type { CapabilityRequest, GrantKind } from "./capabilities/capability.ts";
import { isMethod } from "./capabilities/fetch/grants.ts";
import { isGiven, OPERATOR, type PolicySubject } from "./policy.ts";
import { isClosedHost } from "./rule-offer.ts";

/** A capability call that was denied. */
export interface DeniedCall {
  readonly capability: string;
  /** Its arguments as JSON: hostile input. */
  readonly args: string;
}

/** Longest arguments that are kept and read for a remedy, in characters. */
export const DENIED_ARGS_MAX = 16 * 1024;
const NAME_MAX = 256;

/**
 * Texts to paste that grant a denied capability call and nothing else: into the tool, if it does not request it, and
 * into the policy, if no rule allows it. Empty if nothing should be pasted, or if the operator has to decide, for
 * example on the path of a mount.
 */
export function remediesFor(
  denied: DeniedCall,
  subject: PolicySubject & { readonly requested: CapabilityRequest },
  { grants, allowed }: { readonly grants: GrantKind<unknown>; readonly allowed: readonly unknown[] },
): readonly Remedy[] {
  const { capability: name } = denied;
  const { requested, tool, registrant, tenant } = subject;
  const needed = neededBy(denied, requested);
  if (needed === null) return [];
  const remedies: Remedy[] = [];
  const value = grants.read(needed, "request");
  const own = isGiven(requested, name) ? requested[name] : undefined;
  if (own === undefined || grants.uncovered(value, [grants.read(own, "request")]).length > 0) {
    remedies.push(toolRemedy("capabilities", { ...(requested as JsonObject), [name]: both(own, needed) }));
  }
  if (grants.uncovered(value, allowed).length > 0) {
    const who: JsonObject = registrant === OPERATOR ? { tools: [tool] } : { tools: [tool], registrants: [registrant] };
    const where: JsonObject = tenant === null || tenant === "" ? {} : { tenants: [tenant] };
    remedies.push(configRemedy(["policy", "rules", "-"], { ...who, ...where, allow: { [name]: needed } }));
  }
  return remedies;
}

interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** The smallest request for the capability that covers the call, or `null`. */
function neededBy({ capability, args }: DeniedCall, requested: CapabilityRequest): JsonValue | null {
  const given: unknown = JSON.parse(args);
  const member = (name: string): string => {
    const value: unknown = isObject(given) ? given[name] : undefined;
    return typeof value === "string" ? value : "";
  };
  switch (capability) {
    case "fetch":
      // A WebSocket is opened by a GET, and has the grants of the web's own protocols.
      return neededRequest(member("url").replace(/^ws(?=s?:)/i, "http"), member("method").toUpperCase() || "GET");
    case "env":
    case "tools": {
      const name = member("name");
      return name === "" || name.length > NAME_MAX || name.endsWith("*") ? null : [name];
    }
    // The path of a mount and the binding of a secret are decisions of the operator.
    case "fs":
    case "secrets":
      return null;
    default:
      return isGiven(requested, capability) ? (requested[capability] as JsonValue) : true;
  }
}

function neededRequest(address: string, method: string): JsonValue | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || !isMethod(method)) return null;
  if (isClosedHost(url.hostname)) return null;
  return { origins: [url.origin], methods: [method] };
}

/** The tool's own request for a capability, widened by the needed one. */
function both(own: unknown, needed: JsonValue): JsonValue {
  if (Array.isArray(own) && Array.isArray(needed)) return [...new Set<JsonValue>([...own, ...needed])];
  if (!isObject(own) || !isObject(needed)) return needed;
  const { origins = [], methods = ["GET", "HEAD"] } = own as {
    origins?: readonly string[];
    methods?: readonly string[];
  };
  const { origins: moreOrigins, methods: moreMethods } = needed as { origins: string[]; methods: string[] };
  return {
    ...(own as JsonObject),
    origins: [...new Set([...origins, ...moreOrigins])],
    methods: [...new Set([...methods, ...moreMethods])],
  };
}
