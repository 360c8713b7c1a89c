import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { CapabilityRefusal, type OpenCall } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import {
  createExec,
  type ExecResult,
  type ExecOptions,
} from "../../../../../src/kernel/broker/capabilities/exec/exec.ts";
import { findJail } from "../../../../../src/kernel/broker/jail/jail.ts";

const jail = await findJail();
/** Why commands cannot be run on this machine; nothing where they can. */
export const noJail = "reason" in jail ? jail.reason : undefined;

type Exec = ReturnType<typeof createExec>;

/** A call's `exec`. */
export interface Opened {
  readonly run: (command: string, more?: { timeoutMs?: number; stdin?: string }) => Promise<ExecResult>;
  /** The call ends; resolves when it has given everything back. */
  readonly end: () => Promise<void>;
}

/** Opens the capability for one call, as a policy allows it. */
export function opened(
  allow: unknown = true,
  { findJail: find = findJail, exec = createExec({ findJail: find }) }: ExecOptions & { readonly exec?: Exec } = {},
): Opened {
  const abort = new AbortController();
  const call: OpenCall = {
    callId: "c",
    tool: "t",
    signal: abort.signal,
    callTool: () => Promise.reject(new Error("there are no other tools")),
    grantsOf: () => [],
  };
  const granted = exec.grants.meet(exec.grants.read(true, "request"), exec.grants.read(allow, "policy"));
  if (granted === null) throw new Error("nothing was granted");
  const open = exec.open(call, [granted]);
  const end = async (): Promise<void> => {
    abort.abort(new Error("the call has ended"));
    await open.close?.();
    await exec.close?.();
  };
  onTestFinished(end);
  return { run: async (command, more = {}) => (await open.invoke("run", { command, ...more }, 1)) as ExecResult, end };
}

/** An empty folder that is gone after the test. */
export function folder(): string {
  const made = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-exec-")));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A refusal's outcome, or an error's message. */
export async function refusedWith(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "ok";
  } catch (error) {
    if (error instanceof CapabilityRefusal) return `${error.outcome}: ${error.message}; ${error.refused.remedy}`;
    return error instanceof Error ? error.message : String(error);
  }
}
