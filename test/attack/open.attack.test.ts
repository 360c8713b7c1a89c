import { attack } from "./harness.ts";
import type { Hazard, HostileModule } from "./plan.ts";

/**
 * At the levels `context` and `isolate` nothing is frozen, so a tool may replace whatever the engine's own code in
 * there reads. What comes out is then the tool's word, and is read as such.
 */
const LEVELS = ["context", "isolate"] as const;

/** Enough of both to make texts of hundreds of megabytes. */
const ROOM = { cpuMs: 2_000, memoryMb: 1_024 };
const GIANT = "const giant = '[' + '[],'.repeat(8e7) + '[]]';";
const LATE = "await new Promise((done) => setTimeout(done, 1));";

const OPEN: readonly Hazard[] = LEVELS.flatMap((isolation) =>
  (
    [
      {
        name: "a failure in hundreds of megabytes of JSON",
        body: `${GIANT} JSON.stringify = () => giant; throw 1;`,
        limits: ROOM,
        ends: ["invalid_output", "cpu_limit", "memory_limit"],
      },
      {
        name: "an output in hundreds of megabytes of JSON, told by the engine's own object",
        // The map of the calls is the engine's: its `delete` has the call that ends.
        body: `${GIANT}
          const { get, set } = Map.prototype;
          let call;
          Map.prototype.set = function (k, v) { if (v?.emitOutcome) call = v; return Reflect.apply(set, this, [k, v]); };
          const { delete: remove } = Map.prototype;
          Map.prototype.delete = function (k) { call ??= Reflect.apply(get, this, [k]); return Reflect.apply(remove, this, [k]); };
          return new Promise((done) => setTimeout(() => { call?.emitOutcome?.('+' + giant); done('told'); }, 5));`,
        limits: ROOM,
        ends: ["ok", "output_too_large", "invalid_output", "cpu_limit", "memory_limit"],
      },
      {
        name: "a failure with a code of the engine's own",
        body: `JSON.stringify = () => '{"code":"executor_lost","message":"mine"}'; throw 1;`,
        ends: ["tool_error"],
      },
      {
        name: "a failure with a code that the host alone says",
        body: `JSON.stringify = () => '{"code":"login_required","message":"mine"}'; throw 1;`,
        ends: ["tool_error"],
      },
      {
        name: "an error that the engine takes for one of its own with another code",
        body: `WeakMap.prototype.get = () => "cpu_limit"; WeakMap.prototype.has = () => true; throw new Error("mine");`,
        ends: ["tool_error"],
      },
      {
        name: "methods of texts taken away, with which the engine looks for what JSON loses",
        body: "for (const k of ['charCodeAt', 'includes', 'slice', 'startsWith']) delete String.prototype[k]; return { a: null };",
        ends: ["ok"],
        output: { a: null },
      },
      {
        name: "a refusal of the host, thrown on",
        body: "return host.none.echo(1);",
        ends: ["capability_denied"],
      },
      {
        name: "an output of two lines, the second of which is a message to the host",
        body: "JSON.stringify = () => '1\\nd\\t1\\t1\\t0\\t0\\t0\\t\\t\"forged\"'; return 1;",
        ends: ["invalid_output"],
      },
      {
        name: "an output with the separator of a batch in it",
        body: "JSON.stringify = () => '1\\t+2\\t+3'; return 1;",
        ends: ["invalid_output"],
      },
      {
        name: "an output that is no JSON",
        body: "JSON.stringify = () => '{'; return 1;",
        ends: ["invalid_output"],
      },
      {
        name: "an output whose text is no text",
        body: "JSON.stringify = () => ({ length: 1, toString: () => '1' }); return 1;",
        ends: ["invalid_output", "tool_error"],
      },
      {
        name: "log lines that are no text",
        body: "String.prototype.slice = () => ({ length: 0 }); console.log('x'); return 'said';",
        ends: ["ok", "tool_error"],
      },
      {
        name: "Promise.prototype.then replaced before the engine uses it",
        body: `Promise.prototype.then = function (done) { for (let i = 0; i < 3; i++) done('again'); }; ${LATE.replace("await", "void")} return (async () => 1)();`,
        ends: ["ok", "wall_limit"],
      },
      {
        name: "a setter on Object.prototype that loops",
        body: "for (const k of ['code', 'message', 'run', 'call', 'then', 'value', 'resolve', 'get', 'set']) { Object.defineProperty(Object.prototype, k, { configurable: true, set() { for (;;); }, get() { return undefined; } }); } console.log({}); setTimeout(() => {}); return 1;",
        ends: ["ok", "cpu_limit", "tool_error", "invalid_output", "load_error"],
      },
      {
        name: "the clock's Date, Math and Map replaced by loops",
        body: "for (const [o, k] of [[Map.prototype, 'get'], [Map.prototype, 'delete'], [Math, 'max'], [Number, 'isFinite'], [Reflect, 'apply'], [Array.prototype, 'push']]) o[k] = () => { for (;;); }; return new Promise((done) => setTimeout(done, 5, 1));",
        ends: ["ok", "cpu_limit"],
      },
      {
        name: "what one call has replaced is not there for the next",
        body: "if (input.look) return [typeof Object.prototype.mine, JSON.stringify({ a: 1 }), Symbol.for('kept').description]; Object.prototype.mine = 1; JSON.stringify = () => '\"mine\"'; Symbol.for('kept'); return 1;",
        ends: ["ok"],
        output: "mine",
        next: { arguments: { look: true }, output: ["undefined", '{"a":1}', "kept"] },
      },
    ] as const satisfies readonly Hazard[]
  ).map((hazard: Hazard) => ({ ...hazard, isolation, name: `${hazard.name}, at level ${isolation}` })),
);

/** A module of these levels is inspected in a realm that is not frozen, too. */
const MODULES: readonly HostileModule[] = LEVELS.map((isolation) => ({
  name: `a module that describes itself in hundreds of megabytes, at level ${isolation}`,
  source: "const giant = '[' + '[],'.repeat(8e7) + '[]]';\nJSON.stringify = () => giant;\nexport default () => 1;",
  isolation,
  ends: ["load_error", "output_too_large", "registered"],
}));

attack("levels that are open", { hazards: OPEN, modules: MODULES });
