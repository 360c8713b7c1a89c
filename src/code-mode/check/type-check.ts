import { TenantPlaces } from "../../kernel/base/tenant-places.ts";
import { WaitingSlots } from "../../kernel/broker/capabilities/waiting-slots.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import type { BuiltProgram } from "../../kernel/tool/program/build.ts";
import { BODY, EXPRESSION, withoutFence } from "../../kernel/tool/program/frame.ts";
import { signatureOf } from "../signature.ts";
import { findCompiler } from "./compiler.ts";
import { type Diagnosis, readDiagnostics } from "./diagnostics.ts";
import { declareExactly } from "./exact.ts";
import { runCompiler } from "./run-compiler.ts";

/** Result of a check: a diagnosis, or the reason why it could not be made. */
export type CheckedProgram =
  (Diagnosis & { readonly kind: "checked" }) | { readonly kind: "unchecked"; readonly reason: string };

/** The tools that a program is checked against. */
export interface CheckedTools {
  readonly tools: readonly ToolDescription[];
  readonly describeMissing: (name: string) => string;
}

/** The party that pays for the check of a program. */
export interface CheckPayer {
  readonly tenant: string;
  /** Charges processor time of the check, in milliseconds. */
  spend(cpuMs: number): void;
}

/** Programs that wait for their check, including the current one; half of them may belong to one tenant. */
const WAITING_MAX = 16;
const WAITING_OF_TENANT_MAX = 8;
const NESTING_MAX = 400;
/** Texts with which a program speaks to the compiler, which could read other files for it. */
const DIRECTIVES = /\bimport\b|\/\/\/|@ts-/;
const EXPORTS = /\bexport\b/;
const TAKES_MAX = 300;

/** Checks of this process: one at a time, and tenants in turn. Their number is bounded, so that none waits for long. */
const turns = new WaitingSlots({ max: 1, waitMs: null, late: () => new Error("unreachable") });
const places = new TenantPlaces({ ofTenant: WAITING_OF_TENANT_MAX, all: WAITING_MAX });

/**
 * Checks the types of a program with TypeScript's native compiler. Only certain mistakes are problems: undeclared
 * names, and wrong tools and arguments of tools.
 */
export async function checkTypes(
  code: string,
  built: BuiltProgram,
  catalog: CheckedTools,
  payer: CheckPayer,
): Promise<CheckedProgram> {
  const compiler = findCompiler();
  if (compiler.kind === "missing") return { kind: "unchecked", reason: compiler.reason };
  if (DIRECTIVES.test(code))
    return { kind: "unchecked", reason: "it has comments or types that speak to the compiler" };
  if (EXPORTS.test(code)) return { kind: "unchecked", reason: "it is a module, not the body of a function" };
  if (nestingOf(code) > NESTING_MAX) return { kind: "unchecked", reason: "it is nested too deeply" };
  using place = places.take(payer.tenant);
  if (place === null) return { kind: "unchecked", reason: "too many programs wait for their check" };
  const source = withoutFence(code);
  try {
    const ended = await turns.run(new AbortController().signal, payer.tenant, async () =>
      runCompiler(compiler.file, framed(source, built), await declareExactly(catalog.tools, source)),
    );
    payer.spend(ended.cpuMs);
    if (ended.kind === "failed") return { kind: "unchecked", reason: ended.reason };
    const byName = new Map(catalog.tools.map((tool) => [tool.name, tool]));
    const takes = (name: string): string | undefined => inputOf(byName.get(name));
    const { text: script, calls } = built;
    const { tools, describeMissing } = catalog;
    const isNamespace = (name: string): boolean => tools.some((tool) => tool.name.split(".", 1)[0] === name);
    const program = { code: source, script, calls, linesBefore: 1, takes, isNamespace, describeMissing };
    return { kind: "checked", ...readDiagnostics(ended.output, program) };
  } catch {
    return { kind: "unchecked", reason: "the compiler could not be run" };
  }
}

/** The program as a script, with one line before it. */
function framed(code: string, { text }: BuiltProgram): string {
  if (text.startsWith(BODY.head)) return `${BODY.head}${code}${BODY.tail};\n`;
  return `${EXPRESSION.head}${code.trimEnd().replace(/;+$/, "")}${EXPRESSION.tail};\n`;
}

function nestingOf(code: string): number {
  let [depth, most] = [0, 0];
  for (const one of code) {
    if ("([{<".includes(one)) most = Math.max(most, ++depth);
    else if (")]}>".includes(one)) depth--;
  }
  return most;
}

/** The type of a tool's arguments, in one line. */
function inputOf(tool: ToolDescription | undefined): string | undefined {
  if (tool === undefined) return undefined;
  const line = signatureOf(tool).short.input.replaceAll(/\s+/g, " ");
  return line.length > TAKES_MAX ? `${line.slice(0, TAKES_MAX)}…` : line;
}
