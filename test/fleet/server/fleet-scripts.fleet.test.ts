import { expect, test } from "vitest";
import { FleetScripts } from "../../../src/fleet/server/fleet-scripts.ts";
import type { TextPublisher } from "../../../src/fleet/texts/texts.ts";
import { script } from "../../kernel/executor/jobs.ts";

test("a module that was inspected under another name is another tool for machines", async () => {
  const publish = () => Promise.resolve({ hash: "0", bytes: 1 });
  const scripts = new FleetScripts({ publish } as unknown as TextPublisher);
  const inspected = { ...script("() => 1"), name: "weather" };
  const tool = { ...inspected, name: "get_current_weather" };
  const keys = [await scripts.upload(inspected), await scripts.upload(tool), await scripts.upload({ ...tool })];
  expect(new Set(keys.map(({ key }) => key)).size).toBe(2);
  expect(keys[1]).toEqual(keys[2]);
});

test("the code of a tool is published once, and its checks beside it", async () => {
  const published = new Set<string>();
  const publish = (text: string) => Promise.resolve({ hash: `${published.add(text).size}`, bytes: text.length });
  const scripts = new FleetScripts({ publish } as unknown as TextPublisher);
  const inspected = script("() => 1");
  const checks = { input: "{}", output: "" };
  expect((await scripts.upload(inspected)).checks).toBeNull();
  expect((await scripts.upload({ ...inspected, checks })).checks).not.toBeNull();
  expect([...published]).toEqual([inspected.text, JSON.stringify(checks)]);
});
