import { EventEmitter } from "./events.ts";
import type { NodeModule } from "./inner/library.ts";

/** `node:domain`: runs functions, and catches nothing. */
function create(): object {
  const domain = Reflect.construct(EventEmitter, []) as object;
  const run = (callback: () => unknown): unknown => callback();
  const same = (callback: unknown): unknown => callback;
  return Object.assign(domain, {
    run,
    bind: same,
    intercept: same,
    add: () => undefined,
    remove: () => undefined,
    enter: () => undefined,
    exit: () => undefined,
  });
}

export const shared: NodeModule = { create, createDomain: create, Domain: EventEmitter, active: null };
