import { SCRIPT_EXPORTS } from "../../base/protocol/script.ts";
import { FUNCTIONS } from "../../broker/capabilities/functions.ts";
import { PROGRAM_TOOLS } from "../../broker/capabilities/program-tools.ts";

/*
 * Scripts of the tools that run programs. A program is an argument, so that it is parsed in the realm that it has for
 * itself, at the expense of its call, and all programs have one script.
 */

/** Waits for the promises in a value, all at once: a model means their values. A rejected one fails the program. */
const SETTLE = `const settle = async (value) => {
  const whole = [value];
  const seen = new Set();
  for (let open = [whole]; open.length > 0; ) {
    const [waiting, places] = [[], []];
    while (open.length > 0) {
      const holder = open.pop();
      if (seen.has(holder)) continue;
      seen.add(holder);
      const visit = (one, put) => {
        if (typeof one !== "object" || one === null) return;
        if (one instanceof Promise) {
          waiting.push(one);
          places.push(put);
        } else open.push(one);
      };
      if (holder instanceof Map) for (const [key, one] of holder) visit(one, (made) => holder.set(key, made));
      else if (holder instanceof Set) for (const one of holder) visit(one, (made) => holder.delete(one) && holder.add(made));
      else if (Array.isArray(holder) || [Object.prototype, null].includes(Object.getPrototypeOf(holder)))
        for (const key of Object.keys(holder))
          visit(Object.getOwnPropertyDescriptor(holder, key)?.value, (made) => (holder[key] = made));
    }
    const made = await Promise.all(waiting);
    made.forEach((one, at) => {
      places[at](one);
      if (typeof one === "object" && one !== null) open.push(one);
    });
  }
  return whole[0];
};`;

/** Runs the body of an async function. The output is `{ value }`, without `value` for `undefined`. */
export const FUNCTION_RUNNER = `${SETTLE}
const ${SCRIPT_EXPORTS} = {
  default: async ({ code, names }, { host: { ${FUNCTIONS} } }) => {
    const AsyncFunction = (async () => {}).constructor;
    delete globalThis.fetch;
    for (const name of names) {
      if (name in globalThis) throw new TypeError('"' + name + '" is a global of every program: give the function another name');
      const ask = ${FUNCTIONS}[name];
      globalThis[name] = async (input) => {
        const { value, error } = await ask(input ?? {});
        if (error === undefined) return value;
        throw Object.assign(new Error(error.message), { name: error.name });
      };
    }
    return { value: await settle(await new AsyncFunction(code)()) };
  },
};`;

/** Name of a program's text in stacks. */
export const PROGRAM_FILE = "program.ts";

/** Globals of a program, in addition to those of every realm. */
export const PROGRAM_GLOBALS = [
  "tools",
  "input",
  "progress",
  "search_tools",
  "ToolError",
  "approval",
  "signal",
  "sleepUntil",
] as const;

/** For `JSON.parse`: long integers keep their digits. */
export const WITH_DIGITS = `const withDigits = (_name, one, { source = "" } = {}) =>
  typeof one === "number" && !Number.isSafeInteger(one) && /^-?\\d+$/.test(source) ? BigInt(source) : one;`;

/**
 * A shorter value of the same form, at most `max` characters of JSON long: strings are cut, and arrays and objects keep
 * only their ends.
 */
const PREVIEW = `const STEPS = [[4_000, 100], [1_000, 40], [400, 20], [150, 10], [60, 6], [20, 4], [8, 2]];
const shorten = (value, chars, items, depth) => {
  if (typeof value === "string") return value.length <= chars ? value : value.slice(0, chars) + "… (" + value.length + " characters)";
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return Array.isArray(value) ? "[" + value.length + " items]" : "{…}";
  const inner = (one) => shorten(one, chars, items, depth - 1);
  const half = Math.ceil(items / 2);
  if (Array.isArray(value)) {
    if (value.length <= items) return value.map(inner);
    return [...value.slice(0, half).map(inner), "… " + (value.length - 2 * half) + " more …", ...value.slice(-half).map(inner)];
  }
  const entries = Object.entries(value);
  const kept = entries.length <= items ? entries : entries.slice(0, items);
  const made = Object.fromEntries(kept.map(([name, one]) => [name.slice(0, 200), inner(one)]));
  return kept.length === entries.length ? made : { ...made, "…": entries.length - kept.length + " more members" };
};
// Maps and sets become in a result what the engine makes of them.
const toData = (_name, one) => (one instanceof Map ? Object.fromEntries(one) : one instanceof Set ? [...one] : one);
const jsonOf = (value) => {
  try {
    return JSON.stringify(value, toData);
  } catch {
    return undefined;
  }
};
${WITH_DIGITS}
const preview = (json, max) => {
  const value = JSON.parse(json, withDigits);
  for (const [chars, items] of STEPS) {
    const shown = shorten(value, chars, items, 8);
    if (JSON.stringify(shown).length <= max) return shown;
  }
  return json.slice(0, Math.floor(max / 2)) + "…";
};`;

/**
 * Runs a program that `readProgram` has converted to an expression. The output is `{ value, warnings }`, with
 * `truncated` if `value` is a preview of one that is longer than `resultChars` as JSON: its cost is the call's. Calls
 * that the program has not awaited are awaited here, whether it returns or throws: a half-done write is worse than a
 * late end.
 */
const RUN_PROGRAM = `${PREVIEW}
${SETTLE}
const evaluate = function () {
  "use strict";
  return eval(arguments[0]);
};
const runProgram = async ({ code, input, resultChars }, { host: { ${PROGRAM_TOOLS}: host }, progress }) => {
  delete globalThis.fetch;
  const PLACE = /${PROGRAM_FILE}:(\\d{1,6}):(\\d{1,6})/;
  const then = Promise.prototype.then;
  const running = new Set();
  const warnings = [];
  class ToolError extends Error {
    constructor(tool, code, message) {
      super(message);
      this.tool = tool;
      this.code = code;
    }
    get name() {
      return "ToolError";
    }
  }
  // Tells whether the program looks at the end of a call.
  class ToolPromise extends Promise {
    isObserved = false;
    static get [Symbol.species]() {
      return Promise;
    }
    then(onValue, onError) {
      this.isObserved = true;
      return super.then(onValue, onError);
    }
  }
  const placeOf = (error, enter) => {
    // V8 writes a stack frame by frame, which takes longer than all else of a call: most often the first one says it.
    const { stackTraceLimit } = Error;
    const top = {};
    Reflect.set(Error, "stackTraceLimit", Math.min(stackTraceLimit, 1));
    Error.captureStackTrace(top, enter);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    const [, line, column] = PLACE.exec(String(top.stack)) ?? PLACE.exec(String(error.stack)) ?? [];
    // One line stands before the program's own.
    return line === undefined ? {} : { line: Math.max(1, line - 1), column: Number(column) };
  };
  const call = (name, args, enter) => {
    // Its stack has the program's line: the answer comes in another turn.
    const error = new ToolError(name, "", "");
    const place = placeOf(error, enter);
    const answer = host.call({ name, arguments: args ?? {}, ...place });
    const made = new ToolPromise((resolve, reject) => {
      const end = (given) => {
        // A person has let it run with other arguments.
        if (given.edited !== undefined) made.edited = given.edited;
        if (given.ok) resolve(given.output);
        else reject(describe(error, given));
      };
      then.call(answer, end, reject);
    });
    const ended = then.call(made, () => {}, (reason) => {
      if (!made.isObserved) warnings.push("a call that was not awaited failed: " + name + ": " + (reason?.message ?? ""));
    });
    running.add(ended);
    then.call(ended, () => running.delete(ended));
    return made;
  };
  const describe = (error, { code, message, details }) => {
    const frames = String(error.stack).split("\\n").filter((line) => /^\\s+at /.test(line));
    error.code = code;
    error.message = message;
    if (details !== undefined) error.details = details;
    error.stack = ["ToolError: " + message, ...frames].join("\\n");
    return error;
  };
  const member = (path) => {
    const members = new Map();
    const apply = (_target, _this, args) => call(path, args[0], apply);
    return new Proxy(path === "" ? Object.freeze({}) : () => {}, {
      apply,
      ownKeys: (target) => {
        if (path === "") throw new TypeError("tools has no list of its members: search_tools({ query }) finds tools");
        return Reflect.ownKeys(target);
      },
      get: (_target, name) => {
        if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
        if (!members.has(name)) members.set(name, member(path === "" ? name : path + "." + name));
        return members.get(name);
      },
    });
  };
  const search = (query) => host.search(typeof query === "string" ? { query } : query);
  const pauses = {
    approval: (asked) => host.approval(typeof asked === "string" ? { message: asked } : asked),
    signal: (name, more = {}) => host.signal({ ...more, name }),
    sleepUntil: async (date) => void (await host.until({ date: date instanceof Date ? date.toISOString() : date })),
  };
  Object.assign(globalThis, { tools: member(""), input, progress, search_tools: search, ToolError, ...pauses });
  try {
    let value = evaluate(code);
    for (let depth = 0; depth < 2; depth++) value = await (typeof value === "function" ? value(input) : value);
    value = await settle(value);
    const json = jsonOf(value);
    // The engine refuses a value that JSON cannot hold, as it does every output.
    if (json === undefined) return { value, warnings };
    if (json.length <= resultChars) return { value, warnings };
    const shown = preview(json, resultChars);
    return { value: shown, warnings, truncated: { chars: json.length, kept: JSON.stringify(shown).length } };
  } finally {
    while (running.size > 0) await Promise.all(running);
  }
};`;

export const TOOL_RUNNER = `${RUN_PROGRAM}
const ${SCRIPT_EXPORTS} = { default: runProgram };`;

/**
 * A module that runs one program, whose text is `readProgram`'s: its input is the program's, and its output the
 * program's return value.
 */
export function programModule(code: string): string {
  return `${RUN_PROGRAM}
const code = ${JSON.stringify(code)};
export default async (input, context) => {
  const { value, warnings } = await runProgram({ code, input, resultChars: Infinity }, context);
  for (const warning of warnings) console.warn(warning);
  return value === undefined ? null : value;
};`;
}
