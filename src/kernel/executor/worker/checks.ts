import ivm from "isolated-vm";
import { isHardened, NO_CHECKS, type ToolChecks, type ToolScript } from "../../base/protocol/script.ts";
import { CHECKING } from "../../base/schema/check-runtime.ts";
import type { Checks, CreateChecks } from "../../guest/host.ts";
import { checkCodeText, checkRuntimeText } from "./factory-text.ts";

const FILE = { filename: "glovebox:checks" };

/** Checks of arguments and outputs in the isolates of one worker. */
export class CheckRuntime {
  readonly #text: string;
  /** V8's code cache of the text, for further isolates of this thread. */
  #code: ivm.ExternalCopy<ArrayBuffer> | undefined;
  /** The place of the present check. Isolates write it, as it cannot be read from an isolate that was ended. */
  readonly #place = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  /** `checks`: the prelude's. */
  constructor(checks: string) {
    this.#text = checkRuntimeText(checks);
  }

  /** A tool's checks in its isolate; `null` if it has none. */
  compile(isolate: ivm.Isolate, script: ToolScript): CompiledChecks | null {
    const { input, output } = script.checks;
    if (input === "" && output === "") return null;
    const cached = this.#code === undefined ? FILE : { ...FILE, cachedData: this.#code };
    return new CompiledChecks(this, isolate, isolate.compileScriptSync(this.#text, cached), script);
  }

  get place(): SharedArrayBuffer {
    return this.#place.buffer;
  }

  /** Keeps V8's code of the text, once it has run in an isolate and V8 has compiled its functions. */
  keepCode(isolate: ivm.Isolate): void {
    if (this.#code !== undefined) return;
    const again = isolate.compileScriptSync(this.#text, { ...FILE, produceCachedData: true });
    this.#code = (again as { cachedData?: ivm.ExternalCopy<ArrayBuffer> }).cachedData;
  }

  /** Whether the arguments of the last started call were invalid, since the last call of this. */
  takeRefusal(): boolean {
    const isRefused = this.#place[0] === CHECKING.refused;
    this.#place[0] = CHECKING.nothing;
    return isRefused;
  }

  /** The text about a turn that was cut: the value that was being checked, if any. */
  takePlace(): string {
    const place = this.#place[0];
    this.#place[0] = CHECKING.nothing;
    if (place === CHECKING.input) return " while checking the arguments";
    return place === CHECKING.output ? " while checking the output" : "";
  }
}

/** The checks of a tool, compiled in its isolate. */
export class CompiledChecks {
  readonly #host: CheckRuntime;
  readonly #isolate: ivm.Isolate;
  readonly #runtime: ivm.Script;
  readonly #isHardened: boolean;
  readonly #checks: ToolChecks;

  constructor(host: CheckRuntime, isolate: ivm.Isolate, runtime: ivm.Script, script: ToolScript) {
    this.#host = host;
    this.#isolate = isolate;
    this.#runtime = runtime;
    this.#isHardened = isHardened(script);
    this.#checks = script.checks;
  }

  /** Opens them in one of the tool's realms. In one that a tool can change, they do not include the output's. */
  open(context: ivm.Context): ivm.Reference<Checks> | null {
    if (this.#isHardened) return this.#open(context, this.#checks);
    return this.#checks.input === "" ? null : this.#open(context, { ...this.#checks, output: NO_CHECKS.output });
  }

  /** The check of the output in a realm out of the tool's reach; `null` if its own realm has it, or without schema. */
  openOutputCheck(): OutputCheck | null {
    if (this.#isHardened || this.#checks.output === "") return null;
    const context = this.#isolate.createContextSync();
    return new OutputCheck(this.#open(context, { ...this.#checks, input: NO_CHECKS.input }));
  }

  #open(context: ivm.Context, checks: ToolChecks): ivm.Reference<Checks> {
    const code = this.#isolate.compileScriptSync(checkCodeText(checks), { filename: "glovebox:schemas" });
    const codes = code.runSync(context, { reference: true }) as unknown as ivm.Reference;
    const create = this.#runtime.runSync(context, { reference: true }) as unknown as ivm.Reference<CreateChecks>;
    const place = new ivm.ExternalCopy(this.#host.place).copyInto({ release: true });
    const opened = create.applySync(undefined, [place as never, codes.derefInto() as never], {
      result: { reference: true },
    });
    codes.release();
    create.release();
    this.#host.keepCode(this.#isolate);
    return opened as unknown as ivm.Reference<Checks>;
  }
}

/** The check of a tool's outputs in a realm of its own. */
export class OutputCheck {
  /** No tool runs in it. */
  readonly lines = null;
  readonly #check: ivm.Reference<(text: string) => string>;

  constructor(checks: ivm.Reference<Checks>) {
    this.#check = checks.getSync("output", { reference: true }) as unknown as ivm.Reference<(text: string) => string>;
    checks.release();
  }

  /** A failure as JSON; empty if the output is valid. */
  check(text: string, timeout: number): string {
    return this.#check.applySync(undefined, [text], { timeout });
  }
}
