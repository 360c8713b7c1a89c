import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formsOf } from "../../../../src/capabilities/secrets/forms.ts";
import { Redactor } from "../../../../src/capabilities/secrets/redactor.ts";
import { type SecretOptions, Secrets } from "../../../../src/capabilities/secrets/secrets.ts";

const VALUE = 'k"y/+ü&=correct horse';
const origins = ["https://api.example.com"];

describe("a secret", () => {
  test("is read from a value, a variable of the environment, or a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "glovebox-secret-"));
    try {
      const file = join(folder, "key");
      await writeFile(file, "from a file\n");
      const options = { A: { value: "as a value", origins }, B: { env: "KEY", origins }, C: { file, origins } };
      const secrets = new Secrets(options, { KEY: "from the environment" });
      expect(["A", "B", "C"].map((name) => secrets.find(name)?.value)).toEqual([
        "as a value",
        "from the environment",
        "from a file",
      ]);
      expect(secrets.find("D")).toBeUndefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each<[string, unknown, string]>([
    ["A", { value: "seven77", origins }, "secrets.A is not 8 to 16384 characters long"],
    ["A", { value: "x".repeat(20_000), origins }, "secrets.A is not 8 to 16384 characters long"],
    ["A", { value: 12345678, origins }, "secrets.A has no value"],
    ["A", { origins }, "secrets.A has no value"],
    ["A", { env: "NOT_SET", origins }, "secrets.A.env names a variable that is not set"],
    ["A", { file: "/nowhere/at/all", origins }, "secrets.A.file cannot be read: ENOENT"],
    ["A", { value: "long enough" }, "secrets.A has a list of the origins"],
    ["A", { value: "long enough", origins: [] }, "secrets.A has a list of the origins"],
    ["A", { value: "long enough", origins: ["example.com"] }, "secrets.A.origins[0] is an origin"],
    ["A-B", { value: "long enough", origins }, "secrets.A-B: its name is made of"],
    ["A", null, "secrets.A has a list of the origins"],
  ])("named %s is refused where it is %j, and its value is not repeated", (name, option, why) => {
    const open = () => new Secrets({ [name]: option as SecretOptions }, {});
    expect(open).toThrow(TypeError);
    expect(open).toThrow(why);
    expect(open).not.toThrow("long enough");
    expect(open).not.toThrow("seven77");
  });
});

describe("redaction", () => {
  const redactor = new Redactor([{ name: "KEY", value: VALUE }]);

  test("leaves nothing of a secret in any of its forms", () => {
    const forms = [
      VALUE,
      Buffer.from(VALUE).toString("base64"),
      Buffer.from(VALUE).toString("base64url"),
      encodeURIComponent(VALUE),
      encodeURIComponent(VALUE).toLowerCase().replaceAll("%c3%bc", "%c3%bc"),
      new URLSearchParams({ a: VALUE }).toString().slice(2),
      JSON.stringify(VALUE),
      JSON.stringify(VALUE).replaceAll("/", "\\/"),
      JSON.stringify(VALUE).replaceAll("ü", "\\u00fc"),
      Buffer.from(VALUE).toString("hex"),
      new URL(`https://a.example/${encodeURI(VALUE)}`).pathname,
    ];
    for (const form of forms) {
      const redacted = redactor.text(`before ${form} after`);
      expect(redacted, form).toContain("glovebox.secret.KEY.");
      expect(redacted, form).not.toMatch(/correct|horse|Y29ycmVj|636f7272/);
    }
  });

  test("finds a secret in base64 whatever stands around it there", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 9 }), fc.uint8Array({ maxLength: 9 }), (before, after) => {
        const bytes = Buffer.concat([before, Buffer.from(VALUE), after]);
        expect(redactor.text(bytes.toString("base64"))).toContain("glovebox.secret.KEY.");
        expect(redactor.text(bytes.toString("base64url"))).toContain("glovebox.secret.KEY.");
      }),
    );
  });

  test("replaces the longer one of two secrets of which one begins with the other", () => {
    const both = new Redactor([
      { name: "SHORT", value: "abcdefgh" },
      { name: "LONG", value: "abcdefgh-ijkl" },
    ]);
    expect(both.text("abcdefgh-ijkl abcdefgh-x")).toBe("glovebox.secret.LONG. glovebox.secret.SHORT.-x");
  });

  test("takes secrets for text, and not for patterns", () => {
    const odd = new Redactor([{ name: "ODD", value: "a.*[b](c)$&\\1" }]);
    expect(odd.text("aXX a.*[b](c)$&\\1 $&")).toBe("aXX glovebox.secret.ODD. $&");
  });

  test("does nothing where there are no secrets", () => {
    const none = new Redactor([]);
    const chunk = Buffer.from("anything");
    expect(none.text("anything")).toBe("anything");
    expect(none.latin1("anything")).toBe("anything");
    expect(none.stream().push(chunk)).toBe(chunk);
  });

  test("of a stream gives on at once what cannot become a secret", () => {
    const stream = redactor.stream();
    expect(stream.push(Buffer.from("data: 1\n\n")).toString()).toBe("data: 1\n\n");
    expect(stream.push(Buffer.from("data: 2\n\nk")).toString()).toBe("data: 2\n\n");
    expect(stream.push(Buffer.from("new")).toString()).toBe("knew");
  });

  test("of a stream leaves no secret whole, wherever it is cut, also among bytes that are no text", () => {
    const forms = formsOf(VALUE).map((form) => Buffer.from(form));
    const noise = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes));
    const beginning = fc
      .constantFrom(...forms)
      .chain((form) => fc.nat(form.length).map((end) => form.subarray(0, end)));
    const pieces = fc.array(fc.oneof(noise, beginning, fc.constantFrom(...forms)), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(400), { maxLength: 20 }), (parts, cuts) => {
        const whole = Buffer.concat(parts);
        const stream = redactor.stream();
        const ends = [...cuts.filter((cut) => cut < whole.length).toSorted((a, b) => a - b), whole.length];
        const given = ends.map((end, at) => stream.push(whole.subarray(ends[at - 1] ?? 0, end)));
        const redacted = Buffer.concat([...given, stream.end()]).toString("latin1");
        for (const form of forms.filter(({ length }) => length > 20)) {
          expect(redacted.includes(form.toString("latin1"))).toBe(false);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
