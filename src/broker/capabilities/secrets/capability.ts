import type { Capability } from "../capability.ts";
import { nameGrants } from "../names.ts";

/**
 * `secrets`: the right to have the host put named secrets into requests. It has no methods: tools write placeholders,
 * and no way leads to a value.
 */
export const secretsCapability: Capability<readonly string[]> = {
  name: "secrets",
  grants: nameGrants,
  methods: {},
  open: () => ({ invoke: () => null }),
};
