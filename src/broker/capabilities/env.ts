import type { Capability } from "./capability.ts";
import { nameGrants, requireGranted } from "./names.ts";
import type { SecretOptions } from "./secrets/secrets.ts";

/** `env`: named variables of the host's environment at the start of the engine, without those that hold secrets. */
export function createEnv(
  variables: NodeJS.ProcessEnv,
  secrets: { readonly [name: string]: SecretOptions } = {},
): Capability<readonly string[]> {
  const environment = new Map(Object.entries(variables));
  for (const option of Object.values(secrets)) if ("env" in option) environment.delete(option.env);
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
