import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../../../src/broker/capabilities/secrets/redactor.ts";
import { type SecretOptions, Secrets } from "../../../../src/broker/capabilities/secrets/secrets.ts";

const VALUE = 'k"y/+ü&=correct horse';
const origins = ["https://api.example.com"];

/** The ways in which servers write a secret. */
const writings = (value: string): readonly string[] => [
  value,
  Buffer.from(value).toString("base64"),
  Buffer.from(value).toString("base64url"),
  encodeURIComponent(value),
  JSON.stringify(value).slice(1, -1),
  Buffer.from(value).toString("hex"),
];

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
    ["A", { value: "seven77", origins }, "secrets.A is not 8 to 4096 characters long"],
    ["A", { value: "x".repeat(20_000), origins }, "secrets.A is not 8 to 4096 characters long"],
    ["A", { value: 12345678, origins }, "secrets.A has no value"],
    ["A", { origins }, "secrets.A has no value"],
    ["A", { env: "NOT_SET", origins }, "secrets.A.env names a variable that is not set"],
    ["A", { file: "/nowhere/at/all", origins }, "secrets.A.file cannot be read: ENOENT"],
    ["A", { value: "long enough" }, "secrets.A needs a list of origins"],
    ["A", { value: "long enough", origins: [] }, "secrets.A needs a list of origins"],
    ["A", { value: "long enough", origins: ["example.com"] }, "secrets.A.origins[0] is an origin"],
    ["A-B", { value: "long enough", origins }, "secrets.A-B: the name of a secret has"],
    ["A", null, "secrets.A needs a list of origins"],
  ])("named %s is refused where it is %j, and its value is not repeated", (name, option, why) => {
    const open = () => new Secrets({ [name]: option as SecretOptions }, {});
    expect(open).toThrow(TypeError);
    expect(open).toThrow(why);
    expect(open).not.toThrow("long enough");
    expect(open).not.toThrow("seven77");
  });
});

describe("secrets", () => {
  const long = (length: number, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`S${at}`, { value: `${at}-`.padEnd(length, "(s3cr3t|"), origins }]),
    );

  test("that are as long as they may be are taken out of texts like others", () => {
    const { redactor } = new Secrets(long(4_096, 16), {});
    expect(redactor.text(`before ${"7-".padEnd(4_096, "(s3cr3t|")} after`)).toBe("before glovebox.secret.S7. after");
  });

  test("that are too long in all are refused, and no value is repeated", () => {
    const open = () => new Secrets(long(4_096, 17), {});
    expect(open).toThrow(new TypeError("the secrets have more than 65536 characters in total"));
  });

  test("whose file cannot be read say so without its path, also to whoever looks for a cause", () => {
    const open = () => new Secrets({ A: { file: "/nowhere/at/all", origins } }, {});
    const error = (() => {
      try {
        return open();
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ message: "secrets.A.file cannot be read: ENOENT" });
    expect(error).not.toHaveProperty("cause");
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

  const TOKEN = "Zm9vYmFy+Zm9v/YmFyZm9v";
  const QUOTED = 'pa"ss\\wörd+/🌍=';
  const PEM = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhki/9w0BAQEF+ASC\n".repeat(9)}-----END PRIVATE KEY-----\n`;
  const asJson = (value: unknown, times: number): string =>
    times === 0 ? String(value) : JSON.stringify({ data: asJson(value, times - 1) });
  const unitsOf = (text: string) =>
    text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);

  test.each<[string, string, string]>([
    ["JSON in JSON", QUOTED, asJson(QUOTED, 2)],
    ["JSON in JSON in JSON", QUOTED, asJson(QUOTED, 3)],
    ["several lines, as JSON in JSON", PEM, asJson(PEM, 2)],
    ["several lines, with the line ends of others", PEM, PEM.replaceAll("\n", "\r\n")],
    ["several lines, with the line ends of others in JSON", PEM, asJson(PEM.replaceAll("\n", "\r\n"), 2)],
    ["JSON of upper-case codes", QUOTED, unitsOf(JSON.stringify(QUOTED))],
    ["JSON in JSON of upper-case codes", QUOTED, unitsOf(JSON.stringify(QUOTED)).replaceAll("\\", "\\\\")],
    ["JSON without signs of HTML", TOKEN, TOKEN.replaceAll("+", "\\u002B").replaceAll("/", "\\/")],
    ["HTML with numbers", TOKEN, TOKEN.replaceAll("+", "&#43;").replaceAll("/", "&#x2F;")],
    ["HTML in HTML", TOKEN, TOKEN.replaceAll("+", "&amp;#x2B;")],
    ["HTML with names", 'a<b>&"c\'d"-and-so-on', "a&lt;b&gt;&amp;&quot;c&#39;d&quot;-and-so-on"],
    ["a URL in a URL", QUOTED, encodeURIComponent(encodeURIComponent(QUOTED))],
    ["a URL in a URL in a URL", TOKEN, encodeURIComponent(encodeURIComponent(encodeURIComponent(TOKEN)))],
    ["a URL in which only some signs are encoded", TOKEN, TOKEN.replaceAll("+", "%2b")],
    ["a URL in which all signs are encoded", TOKEN, Buffer.from(TOKEN).toString("hex").replaceAll(/../g, "%$&")],
    ["a form", "with spaces + signs", new URLSearchParams({ a: "with spaces + signs" }).toString().slice(2)],
    ["base64 in lines", PEM, Buffer.from(PEM).toString("base64").replaceAll(/.{76}/g, "$&\r\n")],
    ["base64 in lines, in JSON", PEM, asJson(Buffer.from(PEM).toString("base64").replaceAll(/.{76}/g, "$&\n"), 1)],
    ["base64 in a URL", `x${TOKEN}?>?>`, encodeURIComponent(Buffer.from(`ab${TOKEN}?>?>`).toString("base64"))],
    ["upper-case hex", TOKEN, Buffer.from(TOKEN).toString("hex").toUpperCase()],
  ])("finds a secret that a server wrote as %s, whole and byte by byte", (_, value, written) => {
    const own = new Redactor([{ name: "KEY", value: value.replace(/^x/, "") }]);
    const stream = own.stream();
    const bytes = [...Buffer.from(written)].map((byte) => stream.push(Buffer.from([byte])));
    const cleaned = Buffer.concat([...bytes, stream.end()]).toString();
    expect(cleaned).toBe(own.text(written));
    expect(cleaned).toMatch(/glovebox\.secret\.KEY\./);
    expect(cleaned.replace("glovebox.secret.KEY.", "").length).toBeLessThan(50);
  });

  test("finds a line of a secret that has several, but leaves those that say what it is", () => {
    const own = new Redactor([{ name: "KEY", value: PEM }]);
    expect(own.text("a MIIEvQIBADANBgkqhki/9w0BAQEF+ASC b")).toBe("a glovebox.secret.KEY. b");
    expect(own.text("-----BEGIN PRIVATE KEY-----")).toBe("-----BEGIN PRIVATE KEY-----");
  });

  test.each(["utf16le", "latin1"] as const)("finds a secret in %s", (encoding) => {
    const value = encoding === "latin1" ? "schöne-grüße" : TOKEN;
    const stream = new Redactor([{ name: "KEY", value }]).stream();
    const bytes = [stream.push(Buffer.from(`a ${value} b`, encoding)), stream.end()];
    expect(Buffer.concat(bytes).toString("latin1").replaceAll("\0", "")).toBe("a glovebox.secret.KEY. b");
  });

  test("of a stream waits where what is whole may become a longer secret", () => {
    const both = new Redactor([
      { name: "SHORT", value: "sk-live-abcdefgh" },
      { name: "LONG", value: "sk-live-abcdefgh-SECOND-HALF" },
    ]);
    const shown = (...chunks: readonly string[]) => {
      const stream = both.stream();
      return Buffer.concat([...chunks.map((chunk) => stream.push(Buffer.from(chunk))), stream.end()]).toString();
    };
    expect(shown("x sk-live-abcdefgh", "-SECOND-HALF y")).toBe("x glovebox.secret.LONG. y");
    expect(shown("x sk-live-abcdefgh", "-SECOND y")).toBe("x glovebox.secret.SHORT.-SECOND y");
    expect(shown("x sk-live-abcdefgh")).toBe("x glovebox.secret.SHORT.");
  });

  test("finds a secret with many backslashes, and is not kept busy by more of them", () => {
    const value = `begin${"\\".repeat(8)}end`;
    const own = new Redactor([
      { name: "KEY", value },
      { name: "ODD", value: "\\".repeat(4_096) },
    ]);
    for (const times of [0, 1, 2]) expect(own.text(asJson(value, times))).toContain("glovebox.secret.KEY.");
    expect(own.text("\\".repeat(100_000)).length).toBeLessThan(100_000);
  });

  test("never throws, whatever the text, and leaves what holds no secret as it is", () => {
    const sign = fc.constantFrom(...Array.from("\\%&#+;ux25aZmampY9\0\r\n{}ö🌍"), "\ud800");
    fc.assert(
      fc.property(fc.array(sign, { maxLength: 60 }), (signs) => {
        expect(new Redactor([{ name: "KEY", value: TOKEN }]).text(signs.join(""))).toBe(signs.join(""));
      }),
      { numRuns: 500 },
    );
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
    const forms = writings(VALUE).map((form) => Buffer.from(form));
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
