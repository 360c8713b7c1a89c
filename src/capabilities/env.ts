import { type Capability, CapabilityRefusal, matchesName } from "./capability.ts";
import { nameGrants } from "./names.ts";
import type { SecretOptions } from "./secrets/secrets.ts";

/** `env`: named variables of the host's environment, as they were when the engine started, but for those that are secrets. */
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
        const names = grants.flat();
        if (names.some((pattern) => matchesName(pattern, name))) return environment.get(name) ?? null;
        throw new CapabilityRefusal("denied", `the variable "${name}" was not granted`, {
          asked: `env "${name}"`,
          granted: `env ${nameGrants.describe(names)}`,
          remedy: `add "${name}" to capabilities.env of the tool, and to allow.env of a policy rule`,
        });
      },
    }),
  };
}
