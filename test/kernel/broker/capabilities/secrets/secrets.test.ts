import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type SecretOptions, Secrets } from "../../../../../src/kernel/broker/capabilities/secrets/secrets.ts";

const bind = [{ origin: "https://api.example.com" }];

describe("a secret", () => {
  test("is read from a value, a variable of the environment, or a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "glovebox-secret-"));
    try {
      const file = join(folder, "key");
      await writeFile(file, "from a file\n");
      const options = { A: { value: "as a value", bind }, B: { env: "KEY", bind }, C: { file, bind } };
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
    ["A", { value: "seven77", bind }, "secrets.A is not 8 to 4096 characters long"],
    ["A", { value: "x".repeat(20_000), bind }, "secrets.A is not 8 to 4096 characters long"],
    ["A", { value: 12345678, bind }, "secrets.A has no value"],
    ["A", { bind }, "secrets.A has no value"],
    ["A", { env: "NOT_SET", bind }, "secrets.A.env names a variable that is not set: NOT_SET"],
    ["A", { file: "/nowhere/at/all", bind }, "secrets.A.file cannot be read: ENOENT"],
    ["A", { value: "long enough" }, "secrets.A needs bind, a list of bindings"],
    ["A", { value: "long enough", bind: [] }, "secrets.A.bind is a list of 1 to 100 bindings"],
    ["A", { value: "long enough", origins: ["example.com"] }, "secrets.A.origins[0] is an origin"],
    ["A", { value: "long enough", bind, origins: ["https://a.b"] }, "secrets.A needs bind, a list of bindings"],
    ["A", { value: "long enough", bind, injekt: true }, "secrets.A has a field other than value, env"],
    ["A", { value: "long enough", bind: [null] }, "secrets.A.bind[0] is a binding such as"],
    ["A", { value: "long enough", bind: [{ origin: "x" }] }, "secrets.A.bind[0].origin is an origin"],
    ["A", { value: "long enough", bind: [{ ...bind[0], path: "v1" }] }, "path begins with /"],
    [
      "A",
      { value: "long enough", bind: [{ ...bind[0], in: "header:Host" }] },
      ".in is a header that only the host sets",
    ],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "header:Content-Length" }] }, "only the host sets"],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "header:proxy-authorization" }] }, "only the host sets"],
    ["A", { value: "long enough", bind: [{ origin: "*", path: "/v1" }] }, "path begins with /"],
    ["A", { value: "long enough", bind: [{ ...bind[0], to: 1 }] }, "secrets.A.bind[0] has a field other than origin"],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "header:*" }] }, "secrets.A.bind[0].in is"],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "path" }] }, "secrets.A.bind[0].in is"],
    ["A", { value: "long enough", bind: [{ ...bind[0], as: "Bearer" }] }, "secrets.A.bind[0].as is a text with {}"],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "body", as: "{}" }] }, "as is only for headers"],
    ["A", { value: "long enough", bind: [{ ...bind[0], methods: ["CONNECT"] }] }, "methods is a list of methods"],
    ["A", { value: "long enough", bind: [{ ...bind[0], in: "query:a" }], inject: true }, "inject is only for bindings"],
    ["A", { value: "long enough", bind, inject: true, echoes: true }, "secrets.A has less than 16 characters"],
    ["A", { value: "long enough", bind, inject: "yes" }, "secrets.A.inject and secrets.A.echoes are true or false"],
    ["A-B", { value: "long enough", bind }, "secrets.A-B: the name of a secret has"],
    ["A", null, "secrets.A needs bind, a list of bindings"],
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
      Array.from({ length: count }, (_, at) => [`S${at}`, { value: `${at}-`.padEnd(length, "(s3cr3t|"), bind }]),
    );

  test("that are as long as they may be are taken out of texts like others", () => {
    const secrets = new Secrets(long(4_096, 16), {});
    expect(secrets.redact(`before ${"7-".padEnd(4_096, "(s3cr3t|")} after`)).toBe("before glovebox.secret.S7. after");
  });

  test("that are too long in all are refused, and no value is repeated", () => {
    const open = () => new Secrets(long(4_096, 17), {});
    expect(open).toThrow(new TypeError("the secrets have more than 65536 characters in total"));
  });

  test("whose file cannot be read say so without its path, also to whoever looks for a cause", () => {
    const open = () => new Secrets({ A: { file: "/nowhere/at/all", bind } }, {});
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

describe("the old form of a secret, with origins", () => {
  test("is read with a warning that names it, and not its value", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const secrets = new Secrets({ OLD: { value: "long enough", origins: ["https://a.example"] } }, {});
    const warning = await warned;
    expect(warning).toMatchObject({ name: "DeprecationWarning", code: "GLOVEBOX_SECRET_ORIGINS" });
    expect(warning.message).toContain("secrets.OLD.origins");
    expect(String(warning)).not.toContain("long enough");
    expect(secrets.find("OLD")?.bindings.map((binding) => binding.describe())).toEqual(["https://a.example"]);
  });
});
