import type { ErrorCode } from "../base/errors.ts";
import type { JsonValue } from "../base/json.ts";
import type { Jsonify } from "../base/jsonify.ts";
import type { Limits } from "../base/limits.ts";
import type { Isolation } from "../base/protocol/script.ts";
import type { Schema, SchemaInput, SchemaOutput } from "../base/schema/standard-schema.ts";
import type { CapabilityRequest } from "../broker/capabilities/capability.ts";
import type { CapabilitiesOf } from "../broker/capabilities/custom-types.ts";
import type { ToolAnnotations } from "./contracts/contract.ts";
import type { RetryOn, ToolApproval, ToolUndo } from "./definition.ts";
import type { Host } from "./host-faces.ts";
import type { RegisteredCapabilities } from "./register.ts";

export type { CapabilitiesOf, CapabilityClient, CustomCapability } from "../broker/capabilities/custom-types.ts";
export type { Schema, SchemaInput, SchemaOutput, StandardSchema } from "../base/schema/standard-schema.ts";
export type { Jsonify } from "../base/jsonify.ts";
export type { Host } from "./host-faces.ts";

/**
 * The entry `glovebox/tool`. A tool's module imports it for its types: the bundler has a `defineTool` of its own, so a
 * tool needs no installed package. Here it is a function without dependencies.
 */

/** The second argument of `run`. */
export interface ToolContext<Caps = unknown, Config = JsonValue, Custom = RegisteredCapabilities> {
  readonly callId: string;
  readonly tool: { readonly name: string; readonly version: string };
  /** A copy for each call. */
  readonly config: Config;
  /** Aborted when the call is cancelled or its time is over. */
  readonly signal: AbortSignal;
  /** Reports progress. Costs next to nothing without a listener. */
  readonly progress: (progress: number, total?: number, message?: string) => void;
  /** A member for each capability that the tool requests, and no other. */
  readonly host: Host<Caps, Custom>;
}

type Absent = undefined;
type AnyArguments = { readonly [key: string]: unknown };
/** Arguments as callers write them, and as `run` reads them. */
export type ArgumentsOf<In> = [In] extends [Absent] ? AnyArguments : SchemaInput<In>;
export type ReadArgumentsOf<In> = [In] extends [Absent] ? AnyArguments : SchemaOutput<In>;
/** Return value of `run`, and the output that callers read. */
type MayReturn<Out> = [Out] extends [Absent] ? unknown : SchemaInput<Out>;
export type OutputFrom<Out, Returned> = Jsonify<[Out] extends [Absent] ? Returned : SchemaOutput<Out>>;

/** A call of a tool that is undone. `output`: as its caller got it. */
export interface UndoneCall<Input, Output> {
  readonly input: Input;
  readonly output: Output;
}

/** A defined tool: its types are for callers. At run time it is plain data, and the function. */
export interface Tool<Name extends string = string, Input = never, Output = unknown> {
  readonly name: Name;
  readonly description: string;
  /** Types only; absent at run time. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
}

/** A tool without its code. */
export interface ToolFacts<Name, In, Out, Caps, Config> {
  /** 1 to 128 of `A-Z a-z 0-9 _ . -`. */
  readonly name: Name;
  readonly description: string;
  readonly version?: string;
  readonly tags?: readonly string[];
  /** A schema of a library, or a JSON Schema: of draft 2020-12, if it does not name another one. By default, every object is accepted. */
  readonly inputSchema?: In;
  /** Without one, the output is not checked. */
  readonly outputSchema?: Out;
  readonly capabilities?: Caps;
  readonly config?: Config;
  readonly isolation?: Isolation;
  readonly limits?: Partial<Limits>;
  readonly annotations?: ToolAnnotations;
  /** See `ToolDefinition`. */
  readonly approval?: ToolApproval;
  /** See `ToolDefinition`. */
  readonly retries?: number;
  readonly retryOn?: RetryOn;
  readonly outputChars?: number;
  readonly timeoutArgument?: string;
  /** Calls with their outputs, for models and for tests. */
  readonly examples?: readonly {
    readonly name?: string;
    readonly input: NoInfer<ArgumentsOf<In>>;
    readonly output?: NoInfer<[Out] extends [Absent] ? JsonValue : Jsonify<SchemaOutput<Out>>>;
    readonly error?: ErrorCode;
  }[];
}

/** `defineTool` with the types of an embedder's capabilities. */
export interface ToolFactory<Custom> {
  <
    const Name extends string,
    const In extends Schema | Absent = Absent,
    const Out extends Schema | Absent = Absent,
    const Caps extends CapabilityRequest = Record<never, never>,
    const Config extends JsonValue = null,
    const Returned extends MayReturn<Out> = MayReturn<Out>,
  >(
    tool: ToolFacts<Name, In, Out, Caps, Config> & {
      run(input: ReadArgumentsOf<In>, context: ToolContext<Caps, Config, Custom>): Returned | Promise<Returned>;
      /**
       * How a call is undone: by another tool, or by a function with the call's arguments, as `run` got them, and its
       * output. Default: it cannot be undone.
       */
      readonly undo?:
        | ToolUndo
        | ((
            call: UndoneCall<ReadArgumentsOf<In>, NoInfer<OutputFrom<Out, Returned>>>,
            context: ToolContext<Caps, Config, Custom>,
          ) => unknown);
    },
  ): Tool<Name, ArgumentsOf<In>, OutputFrom<Out, Returned>> & { readonly run: (...args: never) => unknown };
}

/**
 * Defines the tool of a module, which exports it by default. The module is registered by its path: it is evaluated in
 * isolates only, so a program imports its type alone.
 *
 *     export default defineTool({ name: "add", description: "Adds.", inputSchema: …, run: ({ a, b }) => a + b });
 */
export const defineTool: ToolFactory<RegisteredCapabilities> = (tool) => tool;

/** `defineTool` for a project that names its capabilities here: `toolFactory<[typeof inventory]>()`. */
export function toolFactory<Capabilities>(): ToolFactory<CapabilitiesOf<Capabilities>> {
  return (tool) => tool;
}
