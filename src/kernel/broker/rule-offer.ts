import { isObject, type JsonValue, pointerSegment } from "../base/json.ts";
import type { CapabilityRequest, GrantKind } from "./capabilities/capability.ts";
import { isPrivateHost } from "./capabilities/fetch/connections.ts";
import type { FetchGrant } from "./capabilities/fetch/grants.ts";
import { isGiven, OPERATOR, type PolicySubject } from "./policy.ts";

/** A rule that allows the requests of a tool that no rule grants yet. */
export interface RuleOffer {
  /** An entry of `policy.rules`; `null` if there is nothing to allow. */
  readonly rule: { readonly [member: string]: JsonValue } | null;
  /** Requests that only the operator can decide on, with the reason. */
  readonly left: readonly { readonly pointer: string; readonly reason: string }[];
}

/** Names of metadata services of clouds. No rule and no remedy opens one. */
const METADATA_HOSTS: readonly string[] = ["metadata.google.internal", "metadata", "instance-data"];
const DECISIONS: ReadonlyMap<string, string> = new Map([
  ["fs", "the folder of a mount is a decision of the operator"],
  ["secrets", "where a secret may go is a decision of the operator"],
  ["exec", "the programs that may run are a decision of the operator"],
  ["native", "the programs that may run are a decision of the operator"],
]);

/** Whether a host is a metadata service or not public: no rule is offered for it. */
export function isClosedHost(hostname: string): boolean {
  return METADATA_HOSTS.includes(hostname.replace(/\.$/, "").toLowerCase()) || isPrivateHost({ hostname });
}

/** A capability, and its grants so far. */
interface OfferedCapability {
  readonly grants: GrantKind<unknown>;
  /** The values that rules allow the tool. */
  readonly allowed: readonly unknown[];
}

/** Offers the least rule under which a tool is granted its request. Requests that it must not offer are in `left`. */
export function offerRule(
  { tool, registrant, tenant }: PolicySubject,
  requested: CapabilityRequest,
  capabilityOf: (name: string) => OfferedCapability | undefined,
): RuleOffer {
  const allowed: (readonly [string, JsonValue])[] = [];
  const left: { pointer: string; reason: string }[] = [];
  for (const name of Object.keys(requested).filter((one) => isGiven(requested, one))) {
    const pointer = `/capabilities${pointerSegment(name)}`;
    const leave = (at: string, reason: string): void => void left.push({ pointer: `${pointer}${at}`, reason });
    const capability = capabilityOf(name);
    if (capability === undefined) {
      leave("", "the engine has no such capability");
      continue;
    }
    try {
      const offered = offerOne(name, requested[name], capability, leave);
      if (offered !== null) allowed.push([name, offered]);
    } catch (error) {
      leave("", error instanceof Error ? faultSentence(error.message) : "it cannot be read");
    }
  }
  if (allowed.length === 0) return { rule: null, left };
  const who: Record<string, JsonValue> =
    registrant === OPERATOR ? { tools: [tool] } : { tools: [tool], registrants: [registrant] };
  const where: Record<string, JsonValue> = tenant === null || tenant === "" ? {} : { tenants: [tenant] };
  return { rule: { ...who, ...where, allow: Object.fromEntries(allowed) }, left };
}

/** The sentence of a grant's fault, whose message begins with a pointer: "/methods is a list of names". */
export function faultSentence(message: string): string {
  const plain = message.replace(/^([^:]*): (?=(?:is|has) )/, (_, pointer: string) => `${pointer || "it"} `);
  return plain.replace(/^: /, "");
}

type Leave = (at: string, reason: string) => void;

function offerOne(
  name: string,
  request: unknown,
  { grants, allowed }: OfferedCapability,
  leave: Leave,
): JsonValue | null {
  const asked = grants.read(request, "request");
  const uncovered = grants.uncovered(asked, allowed).map(({ pointer }) => pointer);
  if (uncovered.length === 0) return null;
  const decision = DECISIONS.get(name);
  if (decision !== undefined) {
    leave("", decision);
    return null;
  }
  if (name === "fetch") return offerFetch(request, asked as FetchGrant, uncovered, leave);
  if (!Array.isArray(request)) {
    grants.read(request, "policy");
    return request as JsonValue;
  }
  const names = uncovered.flatMap((at) => {
    const one = request[Number(at.slice(1))] as string;
    if (!one.endsWith("*")) return [one];
    leave(at, "a name that ends in * is a decision of the operator");
    return [];
  });
  return names.length === 0 ? null : names;
}

function offerFetch(request: unknown, asked: FetchGrant, uncovered: readonly string[], leave: Leave): JsonValue | null {
  const places = uncovered.flatMap((at) => /^\/origins\/(\d+)/.exec(at)?.[1] ?? []);
  // If only a limit is too low, it is raised for all origins.
  const wanted = places.length === 0 ? asked.origins.map((_origin, at) => `${at}`) : [...new Set(places)];
  const origins = wanted.flatMap((at) => {
    const origin = asked.origins[Number(at)];
    if (origin === undefined) return [];
    const { text, host, isWild, protocol } = origin;
    if (protocol === null) leave(`/origins/${at}`, "all origins at once are a decision of the operator");
    else if (asked.privateOrigins.includes(text))
      leave(`/origins/${at}`, "a private address is a decision of the operator");
    else if (isClosedHost(host) || (isWild && METADATA_HOSTS.some((one) => one.endsWith(`.${host}`))))
      leave(`/origins/${at}`, "it is no public address, or a metadata service");
    else return [text];
    return [];
  });
  if (origins.length === 0) return null;
  const given = isObject(request) ? request : {};
  const limits = ["maxBytes", "maxRequests"].flatMap((name) => {
    const limit = given[name];
    return typeof limit === "number" ? [[name, limit] as const] : [];
  });
  const methods: JsonValue = asked.methods === null ? {} : { methods: [...asked.methods] };
  return { origins, ...methods, ...Object.fromEntries(limits) };
}
