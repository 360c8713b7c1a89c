import { Command, InvalidArgumentError, Option } from "commander";
import { ROLES, type Role } from "../server/access/caller.ts";
import { createKey } from "../server/access/secret.ts";
import { print, printJson, say } from "./output.ts";

interface Options {
  readonly name: string;
  readonly tenant?: string;
  readonly role: readonly Role[];
  readonly json?: true;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const TENANT_MAX = 256;

/** `glovebox keys new`: creates a key for callers of `glovebox serve`. */
export function keysCommand(): Command {
  const create = new Command("new")
    .description("create a key: prints it once, with its entry for the configuration")
    .option("--name <name>", "name of the key in metrics and logs", nameOfKey, "key")
    .option("--tenant <tenant>", "tenant of all calls made with the key (default: the key's name)", nameOfTenant)
    .addOption(
      new Option("--role <role...>", "role of the key; may be given several times")
        .choices([...ROLES])
        .default(["execute"]),
    )
    .option("--json", "print JSON")
    .action(printKey);
  return new Command("keys").description("manage keys of the server's clients").addCommand(create);
}

function printKey({ name, tenant = name, role, json }: Options): void {
  const { secret, hash } = createKey();
  const roles = [...new Set(role)];
  if (json === true) return printJson({ key: secret, entry: { name, hash, tenant, roles } });
  print(secret);
  print("");
  print("keys:");
  // JSON strings are valid YAML, for any content.
  print(`  - name: ${JSON.stringify(name)}`);
  print(`    hash: ${hash}`);
  print(`    tenant: ${JSON.stringify(tenant)}`);
  print(`    roles: [${roles.join(", ")}]`);
  say("glovebox: the first line is the key, which is not stored anywhere; add the other lines to glovebox.config.yaml");
}

function nameOfKey(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidArgumentError("A name has 1 to 64 letters, digits and _ . -");
}

function nameOfTenant(text: string): string {
  if (text.length <= TENANT_MAX) return text;
  throw new InvalidArgumentError(`It has at most ${TENANT_MAX} characters.`);
}
