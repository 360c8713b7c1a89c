import { Command } from "commander";
import { CliError, EXIT } from "./exit.ts";
import { orUsage } from "./open-engine.ts";
import { print, printJson } from "./output.ts";

const USER = /^[\w.-]{1,64}$/;

interface Options {
  readonly fleet: string;
  readonly user: string;
  readonly json?: true;
}

/** `glovebox redis`: commands for an operator of Redis. */
export function redisCommand(): Command {
  const acl = new Command("acl")
    .description("print the ACL of a Redis user that suffices for a fleet, kv, idempotency keys, kept calls and logins")
    .option("--fleet <name>", "name of the fleet", "default")
    .option("--user <name>", "name of the user", "glovebox")
    .option("--json", "print JSON: each rule with what it is for")
    .action(printAcl);
  return new Command("redis").description("what an operator of Redis needs").addCommand(acl);
}

async function printAcl({ fleet, user, json }: Options): Promise<void> {
  if (!USER.test(user)) throw new CliError(EXIT.USAGE, "--user: 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore");
  const { aclRules } = await import("../fleet/redis/acl.ts");
  const rules = await orUsage((async () => aclRules(fleet))());
  if (json === true) return printJson(rules);
  print(`ACL SETUSER ${user} reset on >PASSWORD ${rules.map(({ rule }) => rule).join(" ")}`);
}
