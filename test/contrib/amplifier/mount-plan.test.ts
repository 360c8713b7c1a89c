import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MountPlanError, parseMountPlan, validateMountPlan } from "../../../src/contrib/amplifier/index.ts";

const YAML = `
tools:
  - module: my-tool
    source: git+https://github.com/org/my-tool@main
    config:
      max_size: 1048576
      allowed_paths:
        - /srv/projects
  - module: other
`;

const PLAN = {
  tools: [
    {
      module: "my-tool",
      source: "git+https://github.com/org/my-tool@main",
      config: { max_size: 1048576, allowed_paths: ["/srv/projects"] },
    },
    { module: "other", config: {} },
  ],
};

describe("a plan", () => {
  test("is read from YAML [A31]", () => {
    expect(parseMountPlan(YAML)).toEqual(PLAN);
  });

  test("is read from JSON [A31]", () => {
    expect(parseMountPlan(JSON.stringify(PLAN))).toEqual(PLAN);
  });

  test("has an empty config where an entry has none [A34]", () => {
    for (const entry of [{ module: "a" }, { module: "a", config: null }]) {
      expect(parseMountPlan(JSON.stringify({ tools: [entry] })).tools).toEqual([{ module: "a", config: {} }]);
    }
  });

  test("may have no tools at all", () => {
    for (const plan of ["{}", '{"tools": null}', '{"session": {}}'])
      expect(parseMountPlan(plan)).toEqual({ tools: [] });
  });

  test("keeps whatever JSON is in a config [A33]", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (given) => {
        // As it would be written: JSON knows no -0.
        const config: unknown = JSON.parse(JSON.stringify(given));
        const [entry] = parseMountPlan(JSON.stringify({ tools: [{ module: "a", config }] })).tools;
        // A long integer is an object that is written as its digits.
        expect(JSON.parse(JSON.stringify(entry?.config))).toEqual(config);
      }),
    );
  });
});

describe("the check of a plan", () => {
  const problems = (plan: unknown) => validateMountPlan(plan).map(({ pointer, message }) => `${pointer} ${message}`);

  test("has nothing to say of a good one", () => {
    expect(problems(PLAN)).toEqual([]);
  });

  test("wants an object with a list of objects [A35]", () => {
    for (const plan of [null, [], "tools", 5]) expect(problems(plan)).toEqual([" must be an object"]);
    expect(problems({ tools: { module: "a" } })).toEqual(["/tools must be a list"]);
    expect(problems({ tools: [{ module: "a" }, "b", null] })).toEqual([
      "/tools/1 must be an object",
      "/tools/2 must be an object",
    ]);
  });

  test("wants a module that is a text and not empty [A35]", () => {
    expect(problems({ tools: [{}, { module: 5 }, { module: " " }, { module: "a".repeat(201) }] })).toEqual([
      "/tools/0/module is missing",
      "/tools/1/module must be a text",
      "/tools/2/module must not be empty",
      "/tools/3/module must have at most 200 characters",
    ]);
  });

  test("wants a config that is an object of JSON, and a source that is a text [A35]", () => {
    const config = (value: unknown) => problems({ tools: [{ module: "a", config: value }] });
    expect(config([])).toEqual(["/tools/0/config must be an object"]);
    expect(config({ when: new Date(0) })).toEqual(["/tools/0/config must be JSON"]);
    expect(config({ call: () => 1 })).toEqual(["/tools/0/config must be JSON"]);
    expect(config({ big: "x".repeat(300_000) })).toEqual([
      "/tools/0/config must have at most 262144 characters as JSON",
    ]);
    const circle: Record<string, unknown> = {};
    circle["circle"] = circle;
    expect(config(circle)).toEqual(["/tools/0/config must be JSON"]);
    expect(problems({ tools: [{ module: "a", source: 5 }] })).toEqual(["/tools/0/source must be a text"]);
  });

  test("only warns of sections that nobody knows [A35]", () => {
    expect(validateMountPlan({ tools: [], session: {}, "a/b": 1 })).toEqual([
      {
        level: "warning",
        pointer: "/a~1b",
        message: "is no section of a plan; the sections are session, context, providers, tools, hooks, agents",
      },
    ]);
    expect(parseMountPlan('{"gadgets": []}')).toEqual({ tools: [] });
  });

  test("is what reading a plan fails with: all of it, each with its place", () => {
    const read = () => parseMountPlan('{"tools": [{"module": 1}, {"module": "a", "config": 2}]}');
    expect(read).toThrow(MountPlanError);
    expect(read).toThrow(
      "the mount plan is not valid: /tools/0/module must be a text; /tools/1/config must be an object",
    );
    const many = JSON.stringify({ tools: Array.from({ length: 7 }, () => ({})) });
    expect(() => parseMountPlan(many)).toThrow(/; and 2 more$/);
  });

  test("is not misled by texts that are no plan, or that stand for too much", () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\ntools: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]`;
    for (const text of ["tools: [", "a: 1\na: 2", bomb, "[".repeat(100_000), " ".repeat(2_000_000)]) {
      expect(() => parseMountPlan(text)).toThrow(MountPlanError);
    }
  });

  /** Found by the property below: a long integer is an object that keeps its digits. */
  test.each(["9007199254740992", "tools: [9007199254740992]", "tools: [{ module: a, config: 9007199254740992 }]"])(
    "takes a long integer for no object: %s",
    (text) => expect(() => parseMountPlan(text)).toThrow(/must be an object/),
  );

  test("answers whatever JSON it is given, and what it accepts can be read", () => {
    const field = fc.oneof(fc.constantFrom("module", "source", "config"), fc.string());
    const entry = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()));
    const plans = fc.oneof(fc.jsonValue(), fc.record({ tools: fc.oneof(fc.jsonValue(), fc.array(entry)) }));
    fc.assert(
      fc.property(plans, (given) => {
        const plan: unknown = JSON.parse(JSON.stringify(given));
        const isValid = validateMountPlan(plan).every(({ level }) => level === "warning");
        if (isValid) expect(parseMountPlan(JSON.stringify(plan)).tools.length).toBeGreaterThanOrEqual(0);
        else expect(() => parseMountPlan(JSON.stringify(plan))).toThrow(MountPlanError);
      }),
    );
  });
});
