import { KV_PREFIX, prefixOf } from "./keys.ts";
import { resolveFleetName } from "./url.ts";

/** A rule of an ACL, and its purpose. */
export interface AclRule {
  readonly rule: string;
  readonly why: string;
}

/**
 * The rules of an ACL that suffice for servers and worker machines in a Redis: the keys of a fleet, `kv`, idempotency
 * keys, kept calls, logins, and the commands on them. Throws a `TypeError` if the name is invalid.
 */
export function aclRules(fleet: string): readonly AclRule[] {
  const name = resolveFleetName("--fleet", fleet);
  return [
    { rule: `~${prefixOf(name)}:*`, why: "members, jobs and messages of the fleet" },
    { rule: `&${prefixOf(name)}:*`, why: "room within the caps of the queue, as it comes free" },
    { rule: `~${prefixOf(name, "ledger")}:*`, why: "idempotency keys" },
    { rule: `~${prefixOf(name, "calls")}:*`, why: "kept calls, and calls that wait" },
    { rule: `&${prefixOf(name, "calls")}:*`, why: "kept calls, as they are kept" },
    { rule: `~${prefixOf(name, "logins")}:*`, why: "logins of connectors" },
    { rule: `~${KV_PREFIX}*`, why: "kv, which has no fleet" },
    { rule: "+@read", why: "reads of these keys" },
    { rule: "+@write", why: "writes to these keys" },
    { rule: "-@dangerous", why: "not: commands on all keys, and of administrators" },
    { rule: "+eval", why: "scripts, which are atomic" },
    { rule: "+evalsha", why: "scripts, by their hash" },
    { rule: "+time", why: "the clock of Redis in scripts" },
    { rule: "+subscribe", why: "calls, as other servers keep them, and room in the queue" },
    { rule: "+publish", why: "calls, as this server keeps them" },
    { rule: "+info", why: "whether it has loaded its data, and its version" },
    { rule: "+select", why: "a database of the URL other than 0" },
    { rule: "+client|setname", why: "names of connections for CLIENT LIST" },
    { rule: "+cluster|slots", why: "the nodes of a cluster" },
  ];
}
