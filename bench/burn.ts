/** A tool that keeps a processor busy for as long as its caller says. */
import { runInThisContext } from "node:vm";
import type { ToolDefinition } from "../src/kernel/tool/definition.ts";
import { addTool } from "./tools.ts";

/** Rounded to what an ordinary server takes: the work is fixed, so that only its time differs from one to another. */
const STEPS_PER_MS = 800_000;
/** Of tools that take long and of those beside them: how long a busy machine takes is to be measured, not to be cut. */
export const PATIENT = { cpuMs: 30_000, wallMs: 120_000, queueMs: 120_000 };

/** Every step needs the one before and all end up in the sum, so that no compiler can leave any out. */
export const BURN_FUNCTION = `({ a, b, steps }) => {
  let burnt = 0;
  for (let step = 0; step < steps; step++) burnt = (Math.imul(burnt, 1664525) + 1013904223) | 0;
  return { sum: a + b + burnt };
}`;

export interface BurnArguments extends Record<string, unknown> {
  readonly a: number;
  readonly b: number;
  readonly steps: number;
}

/** The same text where nothing isolates it. */
export const burn = runInThisContext(`"use strict"; (${BURN_FUNCTION})`) as (args: BurnArguments) => {
  readonly sum: number;
};

export function burnTool(name: string): ToolDefinition {
  return { ...addTool(name, BURN_FUNCTION), limits: PATIENT };
}

/** What `burn` is called with for the n-th time to take about so long. */
export function burnArguments(index: number, ms: number): BurnArguments {
  return { a: index, b: 1, steps: Math.round(ms * STEPS_PER_MS) };
}

/** What calls of about so long must answer. Works it out once, which takes as long as one of them. */
export function expectedBurn(ms: number): (index: number) => number {
  const first = burn(burnArguments(0, ms)).sum;
  return (index) => first + index;
}
