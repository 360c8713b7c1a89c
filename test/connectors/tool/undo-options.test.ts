import { expect, test } from "vitest";
import { type ConnectorOptions, resolveConnectors } from "../../../src/connectors/tool/options.ts";

function resolve(undo: unknown) {
  const options = { openapi: { document: "api.json", server: "https://api.example.com" }, undo };
  return resolveConnectors({ crm: options as ConnectorOptions })[0]?.undos;
}

test("an undo names a tool and where its arguments are", () => {
  const undo = { tool: "crm.delete_item", arguments: { id: "/output/id", all: "/input" } };
  expect(resolve({ create_item: undo })).toEqual([["create_item", undo]]);
  expect(resolve(undefined)).toEqual([]);
});

test.each<[string, unknown]>([
  ["a text", "crm.delete_item"],
  ["an operation without a tool", { create_item: { arguments: {} } }],
  ["no arguments", { create_item: { tool: "crm.delete_item" } }],
  ["a value in place of a pointer", { create_item: { tool: "crm.delete_item", arguments: { id: "7" } } }],
  ["a pointer into something else", { create_item: { tool: "crm.delete_item", arguments: { id: "/error" } } }],
  ["an option that does not exist", { create_item: { tool: "crm.delete_item", arguments: {}, when: "always" } }],
  ["a name that no tool can have", { create_item: { tool: "delete it", arguments: {} } }],
])("%s is refused, with the form that an undo has", (_what, undo) => {
  expect(() => resolve(undo)).toThrow(/^connectors\.crm\.undo must map names of operations to \{ tool, arguments \}/);
});
