import type { Capability } from "./capability.ts";
import { nameGrants, requireGranted } from "./names.ts";
import type { SecretOptions } from "./secrets/secrets.ts";

/** Variables that tools may be granted: those without secrets. */
export function withoutSecrets(
  variables: NodeJS.ProcessEnv,
  secrets: { readonly [name: string]: SecretOptions },
): { readonly [name: string]: string | undefined } {
  const held = new Set(Object.values(secrets).flatMap((option) => ("env" in option ? [option.env] : [])));
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !held.has(name)));
}

/** `env`: named variables of the host's environment at the start of the engine. */
export function createEnv(variables: NodeJS.ProcessEnv): Capability<readonly string[]> {
  const environment = new Map(Object.entries(variables));
  return {
    name: "env",
    grants: nameGrants,
    methods: {
      get: {
        isRead: true,
        input: { type: "object", properties: { name: { type: "string", maxLength: 256 } }, required: ["name"] },
      },
    },
    open: (_call, grants) => ({
      invoke: (_method, args) => {
        const { name } = args as { readonly name: string };
        requireGranted("env", "variable", name, grants.flat());
        return environment.get(name) ?? null;
      },
    }),
  };
}
