import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { readVersion } from "../../../src/kernel/base/check-node.ts";
import { registerInfo } from "../../../src/kernel/base/info-metrics.ts";

const samplesOf = async (registry: Registry, name: string): Promise<readonly string[]> =>
  (await registry.getSingleMetricAsString(name)).split("\n").filter((line) => line.startsWith(name));

test("a scrape names the versions of the build", async () => {
  const registry = new Registry();
  registerInfo(registry);
  const { node, v8 } = process.versions;
  const labels = `version="${readVersion()}",node="${node}",v8="${v8}"`;
  expect(await samplesOf(registry, "glovebox_build_info")).toEqual([`glovebox_build_info{${labels}} 1`]);
});

test("a scrape names no configuration where none was shown", async () => {
  const registry = new Registry();
  registerInfo(registry);
  expect(await samplesOf(registry, "glovebox_config_info")).toEqual([]);
});
