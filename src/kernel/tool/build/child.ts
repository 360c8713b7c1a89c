import { rmSync } from "node:fs";
import { transform } from "esbuild";
import { errnoOf } from "../../base/errno.ts";
import { GloveboxError } from "../../base/errors.ts";
import { parseForWriting } from "../../base/exact-json.ts";
import { isObject, type JsonSchema } from "../../base/json.ts";
import type { BundleInput } from "../bundle/bundle.ts";
import { bundleHere, CrashError } from "../bundle/bundler.ts";
import { filesOfFailure } from "../bundle/error.ts";
import { PackageError } from "../package/step.ts";
import { encodeFrame, type Frame, FrameReader } from "./frame.ts";
import { type Answer, type BundleJob, type JobHead, type ModuleAnswer, type ModuleWork, PROVES, READY } from "./job.ts";
import { JOB_LIMITS } from "./limits.ts";

/**
 * The build process. It reads untrusted files and texts instead of the engine's process, one job at a time, and answers
 * with text. It ends with the pipe of its jobs.
 */

const reader = new FrameReader(JOB_LIMITS);
process.stdin.on("data", (chunk: Buffer) => {
  const frame = reader.push(chunk);
  if (frame !== undefined) void work(frame).then(send);
});
process.stdin.on("end", end);
// The engine ends this process, even if the whole process group of a terminal gets a signal.
process.on("SIGTERM", () => undefined);
process.on("SIGINT", () => undefined);
process.stdout.on("error", end);

// esbuild starts while the first job is on its way.
const started = transform("");
// The first job with its problems reports them; a sandbox reports at once, as it has to prove that it works.
if (process.env[PROVES] === undefined) started.catch(() => undefined);
else await started;
send({ head: READY, texts: [] });

async function work({ head, texts }: Frame): Promise<Frame & { readonly head: Answer }> {
  try {
    const { value, texts: made } = await answerOf(head as JobHead, texts);
    return { head: { kind: "done", value }, texts: made };
  } catch (error) {
    return { head: answerTo(error, (head as JobHead).kind), texts: [] };
  }
}

async function answerOf(job: JobHead, texts: readonly string[]): Promise<ModuleAnswer> {
  switch (job.kind) {
    case "bundle": {
      const { text, sourceMap, halves, ...value } = await bundleHere(inputOf(job, texts));
      const made = [text, sourceMap];
      if (halves?.kind === "call") return { value, texts: [...made, halves.call.text, halves.call.sourceMap] };
      return { value: { ...value, whole: halves?.reason }, texts: made };
    }
    case "checks": {
      // Loaded for the first schema: most processes bundle only.
      const { compileToolChecks } = await import("../../base/schema/checks.ts");
      const [input = true, output = null] = texts.map((text) => parseForWriting(text) as JsonSchema);
      const checks = compileToolChecks(input, output);
      return { value: null, texts: [checks.input, checks.output] };
    }
    case "program": {
      const { readProgram } = await import("../program/source.ts");
      const { text, calls } = readProgram(texts[0] ?? "");
      return { value: null, texts: [text, JSON.stringify(calls)] };
    }
    case "module": {
      const { work: workOf } = (await import(job.module)) as { readonly work: ModuleWork };
      return workOf(job.data, texts);
    }
    case "unpack": {
      const { unpack } = await import("../package/unpack.ts");
      await unpack(job);
      return { value: null, texts: [] };
    }
    case "remove":
      rmSync(job.folder, { recursive: true, force: true });
      return { value: null, texts: [] };
  }
}

function answerTo(error: unknown, kind: JobHead["kind"]): Answer {
  if (error instanceof CrashError) return { kind: "crashed", largest: error.message };
  if (error instanceof GloveboxError || error instanceof PackageError) {
    const { message, details } = error;
    const files = filesOfFailure(error);
    const refused = { kind: "refused", message, ...(files.length > 0 && { files }) } as const;
    return isObject(details) ? { ...refused, details } : refused;
  }
  // Messages of the system contain paths of the host.
  const code = errnoOf(error) ?? null;
  if (kind === "bundle") {
    const problem = code === null ? String(error) : `its files cannot be read (${code})`;
    return { kind: "refused", message: `a tool could not be bundled: ${problem}` };
  }
  return { kind: "refused", message: code === null ? String(error) : `the operating system reported ${code}` };
}

function send(frame: Frame): void {
  for (const part of encodeFrame(frame)) process.stdout.write(part);
}

/** esbuild is in this process's group, and may still be at work. */
function end(): void {
  process.kill(process.platform === "win32" ? process.pid : 0, "SIGKILL");
}

/** The module that a job names. */
function inputOf({ input }: BundleJob, texts: readonly string[]): BundleInput {
  if (input.kind === "text") return { ...input, text: texts[0] ?? "" };
  const { scope, project, ...rest } = input;
  if (project !== undefined) return { ...rest, project };
  if (scope === undefined) return rest;
  return { ...rest, scope: { names: new Set(scope.names), modules: scope.modules } };
}
