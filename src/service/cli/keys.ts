import { Command, InvalidArgumentError, Option } from "commander";
import { ROLES, type Role } from "../access/caller.ts";
import { createKey } from "../access/secret.ts";
import { print, say } from "./output.ts";

interface Options {
  readonly name: string;
  readonly tenant?: string;
  readonly role: readonly Role[];
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const TENANT_MAX = 256;

/** `glovebox keys new`: a key for the callers of `glovebox serve`. */
export function keysCommand(): Command {
  const create = new Command("new")
    .description("make a key: it is printed once, with what to write into the configuration for it")
    .option("--name <name>", "what it is called in metrics and logs", nameOfKey, "key")
    .option("--tenant <tenant>", "whose calls are made with it (default: its name)", nameOfTenant)
    .addOption(
      new Option("--role <role...>", "what it may be used for; the option may come several times")
        .choices([...ROLES])
        .default(["execute"]),
    )
    .action(printKey);
  return new Command("keys").description("keys for those who use the server").addCommand(create);
}

function printKey({ name, tenant = name, role }: Options): void {
  const { secret, hash } = createKey();
  print(secret);
  print("");
  print("keys:");
  // JSON is YAML, whatever is in the text.
  print(`  - name: ${JSON.stringify(name)}`);
  print(`    hash: ${hash}`);
  print(`    tenant: ${JSON.stringify(tenant)}`);
  print(`    roles: [${[...new Set(role)].join(", ")}]`);
  say("glovebox: the first line is the key, which is kept nowhere; the others belong into glovebox.config.yaml");
}

function nameOfKey(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidArgumentError("It is made of 1 to 64 letters, digits and _ . -");
}

function nameOfTenant(text: string): string {
  if (text.length <= TENANT_MAX) return text;
  throw new InvalidArgumentError(`It has at most ${TENANT_MAX} characters.`);
}
