// The body of a function of `input`: runs a test file of Node, in Node and in a tool alike.
/* oxlint-disable typescript/no-implied-eval -- it runs what the suite has */
const { program, load, globals } = input;
const { setTimeout, Promise, Error } = globalThis;
const results = new Map();
const promises = [];
const expected = [];
let current = "start";

class Skipped extends Error {}

function begin(name) {
  current = name;
}

function pass(name) {
  if (!results.has(name)) results.set(name, null);
}

function fail(name, error) {
  if (error instanceof Skipped) throw error;
  if (typeof results.get(name) !== "string") results.set(name, shown(error));
}

function shown(error) {
  try {
    const code = error?.code === undefined ? "" : ` [${String(error.code)}]`;
    return `${String(error?.name)}${code}: ${String(error?.message ?? error)}`.slice(0, 400);
  } catch {
    return "an error that cannot be shown";
  }
}

function counted(fn, wanted, isAtLeast, name = current) {
  const state = { name, wanted, isAtLeast, count: 0 };
  expected.push(state);
  return function (...args) {
    state.count += 1;
    try {
      return Reflect.apply(fn, this, args);
    } catch (error) {
      // The listener's caller sees it as well, as under Node.
      if (!state.isCaught) fail(name, error);
      throw error;
    }
  };
}

const noop = () => {};
const mustCall = (fn, wanted) =>
  typeof fn === "number" ? counted(noop, fn, false) : counted(fn ?? noop, wanted ?? 1, false);
const mustCallAtLeast = (fn, wanted) =>
  typeof fn === "number" ? counted(noop, fn, true) : counted(fn ?? noop, wanted ?? 1, true);
const mustNotCall = (message = "a function that must not be called is called") => {
  const name = current;
  return () => {
    const error = new Error(message);
    fail(name, error);
    throw error;
  };
};
const mustSucceed = (fn, wanted) =>
  mustCall(function (error, ...args) {
    if (error !== null && error !== undefined) throw error;
    return fn === undefined ? undefined : Reflect.apply(fn, this, args);
  }, wanted);

function expectsError(validator, wanted) {
  return mustCall((...args) => {
    load("assert").throws(() => {
      throw args[0];
    }, validator);
    return true;
  }, wanted);
}

function invalidArgTypeHelper(input) {
  const { inspect } = load("util");
  if (input === null || input === undefined) return ` Received ${input}`;
  if (typeof input === "function") return ` Received function ${input.name}`;
  if (typeof input === "object") {
    if (input.constructor?.name) return ` Received an instance of ${input.constructor.name}`;
    return ` Received ${inspect(input, { depth: -1 })}`;
  }
  let text = inspect(input, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof input} (${text})`;
}

/** The warnings that a test expects, in the order in which it says so, by name. */
const warnings = new Map();

function expectWarning(nameOrMap, list, code) {
  const map = typeof nameOrMap === "string" ? { [nameOrMap]: list === undefined ? [] : [list, code] } : nameOrMap;
  for (const [name, wanted] of Object.entries(map)) {
    const all =
      Array.isArray(wanted) && Array.isArray(wanted[0]) ? wanted : [Array.isArray(wanted) ? wanted : [wanted]];
    const rows = all.map(([message]) => ({ message, done: counted(noop, 1, false) }));
    warnings.set(name, [...(warnings.get(name) ?? []), ...rows]);
  }
  if (warnings.isHeard) return;
  warnings.isHeard = true;
  globals.process.on("warning", ({ name, message }) => {
    const row = warnings.get(name)?.shift();
    if (row !== undefined && (row.message instanceof RegExp ? row.message.test(message) : row.message === message))
      row.done();
  });
}

const skip = (reason) => {
  throw new Skipped(reason);
};

const VIEWS = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "DataView",
];

const common = {
  mustCall,
  mustCallAtLeast,
  mustNotCall,
  mustSucceed,
  expectsError,
  expectWarning,
  invalidArgTypeHelper,
  skip,
  mustNotMutateObjectDeep: (value) => value,
  skipIf: (is, reason) => {
    if (is) skip(reason);
  },
  skipIfInspectorDisabled: noop,
  skipIf32Bits: noop,
  skipIfEslintMissing: noop,
  allowGlobals: noop,
  printSkipMessage: noop,
  platformTimeout: (ms) => ms,
  disableCrashOnUnhandledRejection: noop,
  getArrayBufferViews: ({ buffer, byteOffset, byteLength }) =>
    VIEWS.flatMap((name) => {
      const View = globalThis[name];
      const size = View.BYTES_PER_ELEMENT ?? 1;
      return byteLength % size === 0 ? [new View(buffer, byteOffset, byteLength / size)] : [];
    }),
  isWindows: false,
  isLinux: true,
  isMacOS: false,
  isAIX: false,
  isIBMi: false,
  isSunOS: false,
  isFreeBSD: false,
  isOpenBSD: false,
  isPi: () => false,
  isDumbTerminal: false,
  isMainThread: false,
  isDebug: false,
  isASan: false,
  hasIntl: true,
  hasCrypto: true,
  hasQuic: false,
  hasIPv6: true,
  enoughTestMem: false,
  localhostIPv4: "127.0.0.1",
  spawnPromisified: () => skip("it starts a process"),
  getTTYfd: () => skip("it needs a terminal"),
};

function tester(prefix) {
  return function test(...args) {
    const fn = args.find((one) => typeof one === "function") ?? noop;
    const title = typeof args[0] === "string" ? args[0] : fn.name;
    const name = `${prefix}${current}: ${title}`;
    if (args.some((one) => typeof one === "object" && one !== null && (one.skip || one.todo))) return Promise.resolve();
    const context = {
      name: title,
      assert: load("assert"),
      mock,
      test: tester(`${title} > `),
      diagnostic: noop,
      plan: noop,
      skip: noop,
      todo: noop,
      before: noop,
      after: noop,
      beforeEach: noop,
      afterEach: noop,
    };
    const run = async () => {
      const outer = current;
      current = name;
      try {
        const running = Reflect.apply(fn, context, fn.length > 1 ? [context, noop] : [context]);
        current = outer;
        await running;
        pass(name);
      } catch (error) {
        current = outer;
        try {
          fail(name, error);
        } catch {
          // Skipped.
        }
      }
    };
    const promise = run();
    promises.push(promise);
    return promise;
  };
}

const mock = {
  fn: (fn = noop) => {
    const calls = [];
    const made = function (...args) {
      const call = { arguments: args, this: this };
      calls.push(call);
      return (call.result = Reflect.apply(fn, this, args));
    };
    made.mock = { calls, callCount: () => calls.length, resetCalls: () => calls.splice(0) };
    return made;
  },
};

const test = Object.assign(tester(""), { mock });
Object.assign(test, {
  test,
  it: test,
  describe: test,
  suite: test,
  before: (fn) => fn(),
  after: noop,
  beforeEach: noop,
  afterEach: noop,
});
for (const name of ["describe", "it", "suite", "test"]) test[name].skip = test[name].todo = noop;

const STAND_INS = {
  "../common": common,
  "../common/index": common,
  "node:test": test,
  "../common/fixtures": {
    path: (...names) => `/fixtures/${names.join("/")}`,
    readSync: () => skip("it reads a file"),
    readKey: () => skip("it reads a file"),
    fileURL: (...names) => new globalThis.URL(`file:///fixtures/${names.join("/")}`),
  },
  "../common/tmpdir": { refresh: () => skip("it writes files"), path: "/tmp" },
};

/** Anything of Node's internal modules: a case that uses it fails in Node, too. */
const internal = new Proxy(function internal() {}, {
  get: (target, key) => (key === "prototype" || typeof key === "symbol" ? target[key] : internal),
  apply: () => internal,
  construct: () => internal,
});

/** An isolate has one context: code of another one runs in its own. */
const oneContext = (code) => new Function(`return (${code})`)();
if (globals.isTool) STAND_INS.vm = { ...load("vm"), runInNewContext: oneContext, runInThisContext: oneContext };

function require(name) {
  const bare = name.replace(/^node:(?!test$)/, "");
  if (Object.hasOwn(STAND_INS, bare)) return STAND_INS[bare];
  if (name.startsWith("/fixtures/") && Object.hasOwn(program.fixtures, name.slice(10))) {
    const inner = { exports: {} };
    new Function("module", "exports", "require", program.fixtures[name.slice(10)])(inner, inner.exports, require);
    return inner.exports;
  }
  if (name.startsWith("internal/") || name.startsWith("../")) return internal;
  return load(bare);
}
require.resolve = (name) => name;

const caught = (error) => {
  if (!(error instanceof Skipped)) fail(current, error);
};

/** Time stands still in a turn of a tool: for files that repeat something until it is late, each reading takes a while. */
let readings = 0;
class SteadyDate extends Date {
  static now() {
    return super.now() + readings++;
  }
}

const scope = {
  require,
  module: { exports: {} },
  exports: {},
  __filename: `/test/parallel/${program.name}`,
  __dirname: "/test/parallel",
  global: globalThis,
  ...globals,
  ...(globals.isTool && /while \(Date\.now\(\)/.test(program.script) && { Date: SteadyDate }),
  __begin: begin,
  __pass: pass,
  __fail: fail,
};
let ended = null;
try {
  // A function inside: files declare variables with the names of the parameters.
  const script = `return Reflect.apply(function () {${program.script}\n}, this, []);`;
  Reflect.apply(new Function(...Object.keys(scope), script), scope.module.exports, Object.values(scope));
} catch (error) {
  ended = error instanceof Skipped ? `skips: ${error.message}` : `ends after ${current}: ${shown(error)}`;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isDone = () =>
  expected.every(({ count, wanted, isAtLeast }) => count === wanted || (isAtLeast && count > wanted));

async function conclude() {
  await Promise.race([Promise.all(promises), wait(2_000)]);
  for (let turn = 0; turn < 12 && !isDone(); turn += 1) await wait(turn * 10);
  await wait(1);
  current = "exit";
  try {
    globals.process.emit("exit", 0);
    pass("exit");
  } catch (error) {
    caught(error);
  }
  for (const { name, count, wanted, isAtLeast } of expected) {
    if (isAtLeast ? count < wanted : count !== wanted)
      fail(name, new Error(`a function was called ${count} times, not ${wanted}`));
  }
  return { ended, results: [...results] };
}

return { caught, report: conclude() };
