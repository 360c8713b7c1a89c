import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SURFACES } from "../../docs/generate/host-work-entry.ts";
import { HOST_WORK } from "../../docs/generate/host-work.ts";
import { createCapabilities } from "../../src/kernel/broker/capabilities/built-in.ts";
import { CONNECTOR } from "../../src/connectors/capability/methods.ts";
import { Secrets } from "../../src/kernel/broker/capabilities/secrets/secrets.ts";
import { NATIVE } from "../../src/wasi/native/methods.ts";
import { RUNTIMES } from "../../src/standard/plugins.ts";
import { ROOT } from "./linked-folder.ts";

const secrets = new Secrets({}, {});
const created = createCapabilities({
  custom: [],
  secrets,
  modules: [CONNECTOR, NATIVE],
  environment: {},
  fetch: {},
  onSecretViolation: () => {},
});
const builtIn = [...created.broker, ...created.host].map(({ name }) => name);
const KNOWN = [...builtIn, "custom capabilities", ...SURFACES, "javascript", ...RUNTIMES.keys()];

test.each(KNOWN)("the work that %s causes has a bound, a place and a payer", (cause) => {
  expect(HOST_WORK.filter(({ causes }) => causes.includes(cause))).not.toEqual([]);
});

test("every cause is a capability, a surface or a runtime that exists", () => {
  expect(HOST_WORK.flatMap(({ causes }) => causes).filter((cause) => !KNOWN.includes(cause))).toEqual([]);
});

test("every bound has a test that exists", () => {
  expect(HOST_WORK.map(({ test: file }) => file).filter((file) => !existsSync(join(ROOT, "test", file)))).toEqual([]);
});
