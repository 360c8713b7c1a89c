import { isObject } from "../../base/json.ts";
import type { ProjectOptions } from "../bundle/project.ts";
import type { ArchiveFormat } from "../package/location.ts";
import type { FrameText } from "./frame.ts";

/** Work for a build process: data, with its long texts separate. */
export interface Job {
  readonly head: JobHead;
  readonly texts: readonly FrameText[];
}

export type JobHead = BundleJob | ChecksJob | ProgramJob | ModuleJob | PackageJob;

/** A job of a package; it has no texts. */
export type PackageJob = UnpackJob | RemoveJob | (ModuleJob & { readonly readsFiles: true });

/** A module to bundle. If it is no file, its text is the job's only text. */
export interface BundleJob {
  readonly kind: "bundle";
  readonly input:
    | { readonly kind: "text"; readonly name: string; readonly resolveDir?: string }
    | {
        readonly kind: "file";
        readonly path: string;
        readonly name: string;
        readonly scope?: { readonly names: readonly string[]; readonly modules?: string };
        readonly project?: ProjectOptions;
      };
}

/** Schemas to compile to code. The job's texts are those of the arguments and, if there is one, of the output. */
export interface ChecksJob {
  readonly kind: "checks";
}

/** A program to make JavaScript of: the job's only text. */
export interface ProgramJob {
  readonly kind: "program";
}

/** Work of another package. Its answer has the value and the texts with which the work resolves. */
export interface ModuleJob {
  readonly kind: "module";
  /** URL of a file that exports `work`, a `ModuleWork`. The build process imports it with the first job that names it. */
  readonly module: string;
  readonly data: unknown;
  /** Whether the work reads files. Default: it is texts to texts. */
  readonly readsFiles?: true;
}

/** Work without network. The job is refused with the error that it throws. */
export type ModuleWork = (data: unknown, texts: readonly string[]) => ModuleAnswer | Promise<ModuleAnswer>;

/** `value`: JSON. */
export interface ModuleAnswer {
  readonly value: unknown;
  readonly texts: readonly string[];
}

/** An archive to unpack into a new folder, in a temporary folder of the engine. */
export interface UnpackJob {
  readonly kind: "unpack";
  readonly archive: string;
  readonly format: ArchiveFormat;
  readonly folder: string;
  readonly maxBytes: number;
}

/** A temporary folder of the engine to remove. */
export interface RemoveJob {
  readonly kind: "remove";
  readonly folder: string;
}

/** Variable of the environment of a build process that begins only once esbuild works, as it may not in a sandbox. */
export const PROVES = "GLOVEBOX_BUILD_PROVES";

/** The head of a build process's first frame, before its first answer: it has begun. */
export const READY = { kind: "ready" } as const;

export function isReady(head: unknown): boolean {
  return isObject(head) && head["kind"] === READY.kind;
}

/** Whether a job reads or writes files. Without files it is texts to texts. */
export function needsFiles(head: JobHead): boolean {
  if (head.kind === "module") return head.readsFiles === true;
  if (head.kind === "checks" || head.kind === "program") return false;
  return head.kind !== "bundle" || head.input.kind === "file" || head.input.resolveDir !== undefined;
}

/** Whether a job is to bundle a file of the operator's project. */
export function isOfProject(head: JobHead): boolean {
  return head.kind === "bundle" && head.input.kind === "file" && head.input.project !== undefined;
}

type Details = Readonly<Record<string, unknown>>;

/** The head of a build process's answer. */
export type Answer =
  | { readonly kind: "done"; readonly value: unknown }
  | {
      readonly kind: "refused";
      readonly message: string;
      readonly details?: Details;
      /** Paths of the operator's files that were read. */
      readonly files?: readonly string[];
    }
  /** esbuild's process has ended; its error output has the reason. `largest`: the largest part of a tool with files. */
  | { readonly kind: "crashed"; readonly largest: string };

/** The answer in a frame, checked only by its shape; `undefined` for any other value. */
export function answerOf(head: unknown): Answer | undefined {
  if (typeof head !== "object" || head === null || !("kind" in head)) return undefined;
  if (head.kind === "crashed") {
    return { kind: "crashed", largest: "largest" in head && typeof head.largest === "string" ? head.largest : "" };
  }
  if (head.kind === "done" && "value" in head) return { kind: "done", value: head.value };
  if (head.kind !== "refused" || !("message" in head) || typeof head.message !== "string") return undefined;
  const { message } = head;
  const files = "files" in head ? stringsOf(head.files) : null;
  const refused = { kind: "refused", message, ...(files !== null && { files }) } as const;
  return "details" in head && isObject(head.details) ? { ...refused, details: head.details } : refused;
}

/** The value as a list of strings; `null` for any other value. */
export function stringsOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : null;
}
