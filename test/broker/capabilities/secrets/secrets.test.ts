import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type SecretOptions, Secrets } from "../../../../src/broker/capabilities/secrets/secrets.ts";

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
