import { describe, expect, test } from "vitest";
import { type LintFinding, lintTools } from "../../../src/contrib/xaibo/index.ts";

const GOOD = {
  name: "get_weather",
  description: "Get current weather information for a city",
  parameters: {
    city: { type: "string", description: "Name of the city", required: true },
    units: { type: "string", description: "Temperature units", required: false, enum: ["celsius", "kelvin"] },
  },
};
const line = ({ severity, pointer, message }: LintFinding) => `${severity} ${pointer} ${message}`;

/** What is found about the good tool, with some of it changed. */
const found = (change: object) => lintTools([{ ...GOOD, ...change }]).map(line);
const foundIn = (parameter: object) => found({ parameters: { p: parameter } });

describe("the lint of definitions", () => {
  test("has nothing to say of a good tool [E46]", () => {
    expect(lintTools([GOOD])).toEqual([]);
  });

  test.each([
    ["weather", ["begin with what the tool does"]],
    ["weather-getter", ["begin with what the tool does", "snake_case"]],
    ["getWeather", ["snake_case"]],
    ["send_mail", []],
  ])("the name %s: an action, in snake_case [E46]", (name, problems) => {
    const lines = found({ name });
    expect(lines).toHaveLength(problems.length);
    for (const [at, problem] of problems.entries()) expect(lines[at]).toMatch(problem);
  });

  test.each(["get_weather", "Weather.", "        "])("the description %j says too little [E46]", (description) => {
    expect(found({ description })).toEqual([
      "warning /0/description does not say what the tool does and when to use it",
    ]);
  });

  test("an empty description is an error [E08 E46]", () => {
    expect(found({ description: "" })[0]).toMatch("error /0/description must be a string of 1 to");
  });

  test("every parameter has a description [E46]", () => {
    const missing = "warning /0/parameters/p/description is missing: say what to give";
    expect(foundIn({ type: "string", required: true })).toEqual([missing]);
    expect(foundIn({ type: "string", required: true, description: " " })).toEqual([missing]);
  });

  test("every parameter says whether it is required [E46]", () => {
    expect(foundIn({ type: "string", description: "Name of the city" })).toEqual([
      "warning /0/parameters/p/required is missing: say whether it has to be given",
    ]);
  });

  test.each([
    ["One of celsius, kelvin", true],
    ['Either "metric" or "imperial"', true],
    ["asc | desc", true],
    ["'a', 'b' or 'c'", true],
    ['Name of the city, such as "Paris"', false],
    ["Text to send", false],
  ])("a parameter whose few choices are told in words wants an enum: %s [E46]", (description, isWanted) => {
    const lines = foundIn({ type: "string", description, required: true });
    expect(lines.some((one) => one.startsWith("warning /0/parameters/p/enum"))).toBe(isWanted);
  });

  test.each([
    [{ type: "string", enum: ["a"], default: "b" }, "must be one of the enum's values"],
    [{ type: "number", default: "30" }, "must be a value of the type number"],
  ])("a default that does not fit is an error: %j [E17]", (parameter, message) => {
    expect(foundIn({ description: "Something", required: false, ...parameter })).toEqual([
      `error /0/parameters/p/default ${message}`,
    ]);
  });

  test("a type that is invalid is an error [E15]", () => {
    expect(foundIn({ type: "date", description: "When", required: true })[0]).toMatch(
      /^error \/0\/parameters\/p\/type /,
    );
  });

  test("a name that another tool has is an error [E09]", () => {
    expect(lintTools([GOOD, GOOD]).map(line)).toEqual(['error /1/name is "get_weather", as is the name of tool 0']);
  });

  test.each([null, "tools", [null], [{}], [{ name: 5, parameters: { p: null } }], [[]]])(
    "whatever it is given, it answers: %j",
    (tools) => {
      expect(lintTools(tools).some(({ severity }) => severity === "error")).toBe(true);
    },
  );
});
