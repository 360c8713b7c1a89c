import { describe, expect, test } from "vitest";
import type { GrantSource } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { execGrants, mergeExecGrants } from "../../../../../src/kernel/broker/capabilities/exec/grants.ts";
import { folder } from "./opened.ts";

const read = (value: unknown, side: GrantSource) => execGrants.read(value, side);

describe("a grant of exec", () => {
  test("is true, or limits within those of the engine", () => {
    expect(read(true, "request")).toEqual({ wallMs: null, outputBytes: null, mounts: new Map() });
    expect(read({ wallMs: 1_000, outputBytes: 10, network: false }, "policy")).toMatchObject({
      wallMs: 1_000,
      outputBytes: 10,
    });
  });

  test.each([
    ["yes", /^: is true/],
    [[], /^: is true/],
    [null, /^: is true/],
    [{ wallMs: 0 }, /^\/wallMs: is a whole number from 1 to 600000$/],
    [{ wallMs: 600_001 }, /^\/wallMs/],
    [{ wallMs: "1" }, /^\/wallMs/],
    [{ outputBytes: 1.5 }, /^\/outputBytes/],
    [{ network: true }, /^\/network: is false/],
    [{ shell: "/bin/bash" }, /^\/shell: is not one of wallMs/],
    [{ mounts: [] }, /^\/mounts: is an object/],
    [{ mounts: { data: { path: "/", mode: "ro" } } }, /^\/mounts\/data: a mount is a slash/],
    [{ mounts: { "/a/b": { path: "/", mode: "ro" } } }, /^\/mounts\/~1a~1b: a mount is a slash/],
    [{ mounts: { "/..": { path: "/", mode: "ro" } } }, /^\/mounts\/~1..: a mount is a slash/],
    [{ mounts: { "/proc": { path: "/", mode: "ro" } } }, /^\/mounts\/~1proc: is reserved by the sandbox$/],
    [{ mounts: { "/data": "/" } }, /^\/mounts\/~1data: is a mount/],
    [{ mounts: { "/data": { path: "/", mode: "rwx" } } }, /mode: is "ro" or "rw"$/],
    [{ mounts: { "/data": { path: "/none/such", mode: "ro" } } }, /path: there is no folder/],
    [{ mounts: { "/data": { mode: "ro" } } }, /path: is missing; it is the path of a folder$/],
    [
      { mounts: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`/${at}`, {}])) },
      /^\/mounts: has at most 32/,
    ],
  ])("is not %j", (value, message) => {
    expect(() => read(value, "policy")).toThrow(message);
  });

  test("says which folders commands see where the policy speaks alone", () => {
    const mounts = { "/data": { path: folder(), mode: "ro" } };
    expect(read({ mounts }, "policy").mounts.get("/data")?.mode).toBe("ro");
    expect(() => read({ mounts }, "request")).toThrow("/mounts: is allowed only in a policy rule");
    expect(() => read({ mounts }, "narrowing")).toThrow("/mounts: is allowed only in a policy rule");
  });

  test("is the less of what is asked for and what is allowed", () => {
    const asked = read({ wallMs: 1_000 }, "request");
    const allowed = read({ wallMs: 500, outputBytes: 10 }, "policy");
    expect(execGrants.meet(asked, allowed)).toMatchObject({ wallMs: 500, outputBytes: 10 });
    expect(execGrants.meet(read(true, "request"), allowed)).toMatchObject({ wallMs: 500 });
    expect(execGrants.uncovered(asked, [allowed])).toEqual([{ pointer: "/wallMs", asked: "commands of 1000 ms" }]);
    expect(execGrants.uncovered(asked, [allowed, read(true, "policy")])).toEqual([]);
    expect(execGrants.uncovered(asked, [])).toEqual([{ pointer: "", asked: "the capability" }]);
  });

  test("of several rules is what all of them give", () => {
    const [one, other] = [folder(), folder()];
    const rules = [
      { wallMs: 100, outputBytes: 50, mounts: { "/a": { path: one, mode: "ro" }, "/b": { path: one, mode: "ro" } } },
      { wallMs: 200, mounts: { "/a": { path: one, mode: "rw" }, "/b": { path: other, mode: "rw" } } },
    ];
    const merged = mergeExecGrants(rules.map((rule) => read(rule, "policy")));
    expect(merged).toEqual({
      wallMs: 200,
      outputBytes: null,
      mounts: new Map([
        ["/a", { path: one, mode: "rw" }],
        ["/b", { path: one, mode: "ro" }],
      ]),
    });
  });

  test("is described without the host's folders", () => {
    const path = folder();
    const said = execGrants.describe(
      read({ wallMs: 5, outputBytes: 7, mounts: { "/data": { path, mode: "ro" } } }, "policy"),
    );
    expect(said).toBe("commands of at most 5 ms with at most 7 bytes of output that see /data (ro)");
    expect(execGrants.describe(read(true, "policy"))).toBe("commands");
  });
});
