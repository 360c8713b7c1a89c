/** Piscina's tasks: the least that a worker thread can do. Nothing is isolated here. */
import { burn as work, type BurnArguments } from "../burn.ts";

export default function noop(task: unknown): unknown {
  return task;
}

/** The same with JSON text both ways, read and written again as a tool's would be. */
export function rewrite(json: string): string {
  return JSON.stringify(JSON.parse(json));
}

export function burn(args: BurnArguments): unknown {
  return work(args);
}
