import { attack } from "./harness.ts";
import type { Hazard } from "./plan.ts";

/** The tool's next call waits a while, so that what the first has left would act during it. */
const LOOK = "if (input.look) return new Promise((done) => setTimeout(done, 100, 'clean'));";
const next = { arguments: { look: true }, output: "clean" };

/** Calls that have answered, and then go on: nothing of them may reach the call that comes after. */
const ANSWERED: readonly Hazard[] = [
  ["a timer that throws later", "setTimeout(() => { throw new Error('late'); }, 20); return 'gone';"],
  ["a timer that loops later", "setTimeout(() => { for (;;); }, 20); return 'gone';"],
  ["an interval that goes on", "setInterval(() => console.log('late'), 1); return 'gone';"],
  ["a promise that rejects later", "new Promise((_, no) => setTimeout(no, 20, new Error('late'))); return 'gone';"],
  ["an ask whose answer starts a loop", "host.vault.slow(1).then(() => { for (;;); }); return 'gone';"],
  ["an ask whose answer asks again", "const again = () => host.vault.slow(1).then(again); again(); return 'gone';"],
  [
    "a chain of a hundred thousand microtasks",
    "let n = 0; const again = () => { if (n++ < 1e5) Promise.resolve().then(again); }; again(); return 'gone';",
  ],
  [
    "an async function that is never done",
    "(async () => { for (;;) await new Promise((d) => setTimeout(d, 1)); })(); return 'gone';",
  ],
].map(([name = "", body = ""]) => ({ name, body: `${LOOK} ${body}`, ends: ["ok"], output: "gone", next }));

/** Places in a realm that could remember an earlier call. */
const REMEMBERED: readonly Hazard[] = [
  {
    name: "digits that a call has written itself",
    body: `if (input.look) return { [Symbol.toStringTag]: "Promise", a: 1 };
      JSON.rawJSON("1"); return "gone";`,
    ends: ["ok"],
    output: "gone",
    next: { arguments: { look: true }, output: { a: 1 } },
  },
  {
    name: "warnings that a library gives once",
    module: "import { parse } from 'node:url';",
    body: `const lines = []; console.warn = (line) => lines.push(line); parse('http://a:b/'); return lines.length;`,
    ends: ["ok"],
    output: 0,
    next: { arguments: {}, output: 0 },
  },
];

const CUT: readonly Hazard[] = [
  {
    name: "a microtask that throws",
    body: `${LOOK} queueMicrotask(() => { throw new Error('late'); }); return 'gone';`,
    // An async function has not answered yet when the microtask runs.
    ends: ["ok", "tool_error"],
    output: "gone",
    next,
  },
  {
    name: "a storm of microtasks behind an answer",
    body: `${LOOK} const again = () => { Promise.resolve().then(again); }; again(); return 'gone';`,
    // The answer may have left the isolate before the storm is cut.
    ends: ["ok", "cpu_limit"],
    next,
  },
  {
    name: "a loop in a microtask behind an answer",
    body: `${LOOK} Promise.resolve().then(() => { for (;;); }); return 'gone';`,
    ends: ["ok", "cpu_limit"],
    next,
  },
  {
    name: "a wedge in a microtask behind an answer",
    body: `${LOOK} Promise.resolve().then(() => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)); return 'gone';`,
    ends: ["ok", "cpu_limit"],
    next,
  },
  {
    name: "a memory bomb in a microtask behind an answer",
    body: `${LOOK} Promise.resolve().then(() => { const a = []; for (;;) a.push(new Array(1e4).fill(1.5)); }); return 'gone';`,
    ends: ["ok", "cpu_limit", "memory_limit"],
    next,
  },
  {
    name: "timers of a call that ran out of time",
    body: `${LOOK} setInterval(() => console.log('late'), 5); setTimeout(() => { throw new Error('late'); }, 550); return new Promise(() => {});`,
    limits: { wallMs: 500 },
    // The timer falls into the next call; on a busy machine it may come before the call is ended.
    ends: ["wall_limit", "tool_error"],
    next,
  },
  {
    name: "listeners of a call that ran out of time, which ask the host and start again",
    body: `${LOOK} context.signal.addEventListener('abort', () => { host.vault.echo(1).then(() => { for (;;); }); setTimeout(() => { for (;;); }, 1); queueMicrotask(() => { for (;;); }); }); return new Promise(() => {});`,
    // The next call has the same limit, and waits for another worker: the listeners loop until theirs is ended.
    limits: { wallMs: 1_500 },
    ends: ["wall_limit"],
    next,
  },
];

/**
 * A tool that shares its module between its own calls keeps things on purpose, but not the powers of a call that ended.
 * On a busy machine its next call may reach another worker, where nothing was kept.
 */
const SHARED: readonly Hazard[] = [
  {
    name: "a context that was kept after its call",
    isolation: "shared",
    module: "let kept;",
    body: `if (input.look) {
        let answer = 'clean';
        kept?.host.vault.echo(1).then(() => { answer = 'the old call was answered'; }, () => {});
        return new Promise((done) => setTimeout(() => done(answer), 100));
      }
      kept = context; return 'gone';`,
    ends: ["ok"],
    output: "gone",
    next,
  },
  {
    name: "the resolve function of another call",
    isolation: "shared",
    module: "let settle;",
    body: "if (input.look) { settle?.('for the other'); return 'clean'; } new Promise((done) => { settle = done; }); return 'gone';",
    ends: ["ok"],
    output: "gone",
    next,
  },
];

attack("what ended calls leave behind", { hazards: [...ANSWERED, ...CUT, ...REMEMBERED, ...SHARED] });
