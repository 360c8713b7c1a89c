import ivm from "isolated-vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { BundleCode } from "../../../../src/kernel/executor/worker/bundle-code.ts";

const FILE = { filename: "tool:first", lineOffset: -1 };

function openIsolate(): { readonly isolate: ivm.Isolate; readonly context: ivm.Context } {
  const isolate = new ivm.Isolate();
  onTestFinished(() => isolate.dispose());
  return { isolate, context: isolate.createContextSync() };
}

function openCode(): BundleCode {
  const code = new BundleCode();
  onTestFinished(() => code[Symbol.dispose]());
  return code;
}

/** A text with so many characters, whose value comes from a function. */
function textOf(value: string, length = 8 * 1024): string {
  return `(function () {\nreturn ${value};\n})`.padEnd(length);
}

function run(script: ivm.Script, context: ivm.Context): unknown {
  const made = script.runSync(context, { reference: true }) as unknown as ivm.Reference<() => unknown>;
  return made.applySync(undefined, []);
}

/** `undefined` where no code cache was used. */
function isRejected(script: ivm.Script): unknown {
  return Reflect.get(script, "cachedDataRejected");
}

describe("the code of bundles", () => {
  test("another isolate compiles a bundle from the code that was kept", () => {
    const code = openCode();
    code.compileWhole(openIsolate().isolate, textOf("1"), FILE);
    const { isolate, context } = openIsolate();
    const script = code.compile(isolate, textOf("1"), FILE);
    expect(isRejected(script)).toBe(false);
    expect(run(script, context)).toBe(1);
  });

  test("a bundle of the same length does not get another's code", () => {
    const code = openCode();
    code.compileWhole(openIsolate().isolate, textOf("1"), FILE);
    const { isolate, context } = openIsolate();
    const script = code.compile(isolate, textOf("2"), FILE);
    expect(isRejected(script)).toBeUndefined();
    expect(run(script, context)).toBe(2);
  });

  test("frames name the tool that uses the code, and its bundle's line", () => {
    const code = openCode();
    const text = textOf("new Error().stack");
    code.compileWhole(openIsolate().isolate, text, FILE);
    const { isolate, context } = openIsolate();
    const stack = run(code.compile(isolate, text, { ...FILE, filename: "tool:second" }), context);
    expect(stack).toMatch(/tool:second:1:/);
    expect(stack).not.toContain("tool:first");
  });

  test.for([
    { size: "short", text: textOf("1", 100) },
    { size: "long", text: textOf("1", 1024 * 1024) },
  ])("a $size bundle is compiled without keeping code", ({ text }) => {
    const code = openCode();
    code.compileWhole(openIsolate().isolate, text, FILE);
    expect(isRejected(code.compile(openIsolate().isolate, text, FILE))).toBeUndefined();
  });

  test("what was used least recently makes room", () => {
    const code = openCode();
    const { isolate } = openIsolate();
    const texts = Array.from({ length: 20 }, (_, index) => textOf(String(index), 512 * 1024));
    for (const text of texts) {
      code.compileWhole(isolate, text, FILE);
      code.compile(isolate, textOf("0", 512 * 1024), FILE);
    }
    const known = texts.filter((text) => isRejected(code.compile(openIsolate().isolate, text, FILE)) === false);
    expect(known.length).toBeLessThan(16);
    expect(known).toContain(texts[0]);
    expect(known).toContain(texts.at(-1));
    expect(known).not.toContain(texts[1]);
  });
});
