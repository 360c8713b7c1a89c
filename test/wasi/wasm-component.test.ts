import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { componentProblem } from "../../src/wasi/runtime/wasm-component.ts";
import { command, component, componentOf, name, section, u32 } from "../kernel/base/wasm/wasm.ts";

const TOOL = "amplifier:modules/tool@1.0.0";

describe("a file of WebAssembly", () => {
  test("is no component where it is a module, or something else", () => {
    for (const bytes of [
      command(),
      new Uint8Array(),
      component().slice(0, 7),
      Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]),
    ]) {
      expect(componentProblem(bytes)).toBeNull();
    }
  });

  test("is Amplifier's tool where it exports that interface, in whatever version and place", () => {
    const problem = `is an Amplifier tool as a component (it exports "${TOOL}"), and components do not run here`;
    expect(componentProblem(component(TOOL))).toContain(problem);
    expect(componentProblem(component("wasi:cli/run@0.2.0", TOOL))).toContain(problem);
    expect(componentProblem(component("amplifier:modules/tool"))).toContain('(it exports "amplifier:modules/tool")');
    // A module and a component inside of it, other names, and types of exports.
    const before = [
      section(1, 0, 0x61, 0x73, 0x6d),
      section(4, ...component("other:inner/one")),
      section(0, ...name("x")),
    ];
    const typed = [
      [0, ...name("f"), 1, 0, 1, 1, 3],
      [1, ...name("r"), 3, 0, 1, 3, 1],
      [1, ...name("t"), 3, 0, 1, 3, 0, 4],
      [1, ...name("m"), 0, 0x11, 0, 1, 0, 0x11, 2],
      [1, ...name(TOOL), 5, 0, 1, 5, 0],
    ];
    const exported = section(11, ...u32(typed.length), ...typed.flat());
    expect(componentProblem(componentOf(...before, exported))).toContain(problem);
  });

  test("is another component of Amplifier's where it exports another of its interfaces", () => {
    for (const one of ["amplifier:modules/hook-handler@1.0.0", "amplifier:modules/toolbox"]) {
      expect(componentProblem(component(one))).toBe(
        `is an Amplifier component that exports "${one}", which is no tool; name a component that exports amplifier:modules/tool`,
      );
    }
  });

  test("is any other component, with the name of an export where it has one", () => {
    const remedy = "and only modules of WASI preview 1 run here: build it as a WASI command for wasm32-wasip1";
    expect(componentProblem(component("wasi:cli/run@0.2.0"))).toContain(
      `is a component that exports "wasi:cli/run@0.2.0", ${remedy}`,
    );
    expect(componentProblem(component())).toContain(`is a component, ${remedy}`);
    expect(componentProblem(component("x".repeat(10_000)))?.length).toBeLessThan(500);
  });

  test("is told whatever its bytes are, within limits", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(componentProblem(componentOf([...bytes]))).toMatch(/^is an? /);
        expect(componentProblem(componentOf(section(11, ...bytes)))).toMatch(/^is an? /);
      }),
    );
    const many = Array.from({ length: 20_000 }, () => section(0, ...name("x")));
    expect(componentProblem(componentOf(...many, Array.from(component(TOOL).slice(8))))).toMatch(/^is a component, /);
  });
});
