import { tmpdir } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Capability, OpenCall } from "../../../../src/kernel/broker/capabilities/capability.ts";
import { createExec } from "../../../../src/kernel/broker/capabilities/exec/exec.ts";
import { EXEC_LIMITS } from "../../../../src/kernel/broker/capabilities/exec/grants.ts";
import { systemFileHolder } from "../../../../src/kernel/broker/capabilities/fs/file-holder.ts";
import { createFs } from "../../../../src/kernel/broker/capabilities/fs/fs.ts";
import { FS_LIMITS } from "../../../../src/kernel/broker/capabilities/fs/limits.ts";
import { NATIVE_LIMITS } from "../../../../src/wasi/native/methods.ts";
import { createNative } from "../../../../src/wasi/native/native.ts";

/** Work that got its slot begins with this, and is never done. */
type Begin = () => Promise<never>;

interface Shared {
  readonly create: (begin: Begin) => Pick<Capability, "grants" | "open">;
  readonly grant: unknown;
  readonly method: string;
  readonly args: unknown;
  readonly max: number;
  readonly reserved: number;
}

const SHARED: Record<string, Shared> = {
  exec: {
    create: (begin) => createExec({ findJail: begin }) as Capability,
    grant: true,
    method: "run",
    args: { command: "true" },
    max: EXEC_LIMITS.atOnceInAll,
    reserved: 1,
  },
  native: {
    create: (begin) => createNative({ findJail: begin }) as Capability,
    grant: true,
    method: "run",
    args: { argument: "" },
    max: NATIVE_LIMITS.atOnce,
    reserved: NATIVE_LIMITS.reserved,
  },
  fs: {
    create: (begin) => createFs({ holder: { ...systemFileHolder, root: begin } }) as Capability,
    grant: { data: { path: tmpdir(), mode: "ro" } },
    method: "stat",
    args: { path: "/data" },
    max: FS_LIMITS.atOnceInAll,
    reserved: FS_LIMITS.atOnceInAll / 4,
  },
};

/** Found by a review: one tenant took all slots of a capability, and others waited as long as it liked. */
test.each(Object.entries(SHARED))(
  "%s: a tenant that asks for all slots leaves some to others",
  async (_name, shared) => {
    const abort = new AbortController();
    onTestFinished(() => abort.abort(new Error("the test has ended")));
    let begun = 0;
    const capability = shared.create(() => (begun++, new Promise<never>(() => undefined)));
    const grants = [capability.grants.read(shared.grant, "policy")];
    const ask = async (tenant: string, calls: number) => {
      for (let n = 0; n < calls; n++) {
        const limits = { cpuMs: 1_000, wallMs: 1_000, memoryMb: 64, outputBytes: 1_000 };
        const call: OpenCall = {
          callId: `${tenant}-${n}`,
          tool: "tool",
          tenant,
          signal: abort.signal,
          binary: {
            file: "none",
            limits,
          },
          callTool: () => Promise.reject(new Error("no tool is called here")),
          grantsOf: () => [],
        };
        Promise.resolve(capability.open(call, grants).invoke(shared.method, shared.args, 1)).catch(() => undefined);
      }
      // All that may begin has begun.
      for (let turn = 0; turn < 20; turn++) await nextTurn();
    };
    await ask("greedy", shared.max + 10);
    expect(begun).toBe(shared.max - shared.reserved);
    await ask("modest", 1);
    expect(begun).toBe(shared.max - shared.reserved + 1);
  },
);
