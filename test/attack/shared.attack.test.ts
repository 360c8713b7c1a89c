import { attack } from "./harness.ts";
import type { Hazard } from "./plan.ts";

/** State that a call leaves in its module is kept on purpose; a call that is cut off discards it, and limits hold. */
const LEVEL = { isolation: "shared" } as const;
const LOOK = "if (input.look) return kept === undefined ? 'fresh' : kept;";
const fresh = { arguments: { look: true }, output: "fresh" };

const SHARED: readonly Hazard[] = [
  {
    name: "what a call has kept is there for the next",
    module: "let kept;",
    body: `${LOOK} kept = 'mine'; return 'done';`,
    ends: ["ok"],
    next: { arguments: { look: true }, output: "mine" },
  },
  {
    name: "a loop in a module that is kept",
    module: "let kept;",
    body: `${LOOK} kept = 'mine'; for (;;);`,
    ends: ["cpu_limit"],
    next: fresh,
  },
  {
    name: "a wedge in a module that is kept",
    module: "let kept;",
    body: `${LOOK} kept = 'mine'; Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`,
    ends: ["cpu_limit"],
    next: fresh,
  },
  {
    name: "a heap that is filled in a module that is kept",
    module: "let kept;",
    body: `${LOOK} kept = []; for (;;) kept.push(new Array(1e4).fill(1.5));`,
    limits: { cpuMs: 2_000, memoryMb: 32 },
    ends: ["memory_limit", "cpu_limit"],
    next: fresh,
  },
  {
    name: "a heap that is filled to the brim and kept",
    module: "let kept;",
    body: `if (input.look) return 'alive'; kept = []; for (let i = 0; i < 3_500; i++) kept.push(new Array(1e3).fill(1.5)); return 'done';`,
    limits: { cpuMs: 2_000, memoryMb: 32 },
    ends: ["ok", "memory_limit"],
    next: { arguments: { look: true }, output: "alive" },
  },
  {
    name: "timers, intervals and promises of an ended call in a module that is kept",
    module: "let kept = 0;",
    body: `if (input.look) return new Promise((done) => setTimeout(() => done(kept), 150));
      setInterval(() => { kept++; }, 5); host.vault.slow(1).then(() => { kept++; }); return 'done';`,
    ends: ["ok"],
    output: "done",
    next: { arguments: { look: true }, output: 0 },
  },
  {
    name: "built-ins that calls of a kept module have in common",
    body: `if (input.look) return [({}).mine, [].mine, typeof JSON.parse].map(String);
      for (const o of [Object.prototype, Array.prototype, JSON, Error]) { try { o.mine = 1; o.parse = 1; } catch {} } return 'done';`,
    ends: ["ok"],
    next: { arguments: { look: true }, output: ["undefined", "undefined", "function"] },
  },
  {
    name: "a console and a signal that were kept after their call",
    module: "let kept;",
    body: `if (input.look && kept === undefined) return 'fresh';
      if (input.look) { let heard = 0; kept.signal.addEventListener('abort', () => { heard++; }); kept.log('late'); return [kept.signal.aborted, heard]; }
      kept = { signal: context.signal, log: console.log }; return 'done';`,
    ends: ["ok"],
    output: "done",
    next: { arguments: { look: true }, output: [false, 0] },
  },
].map((hazard) => ({ ...hazard, ...LEVEL }) as Hazard);

attack("modules that are kept between calls", { hazards: SHARED });
