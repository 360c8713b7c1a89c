import type { Jsonify } from "../../base/jsonify.ts";
import type { Schema, SchemaInput, SchemaOutput } from "../../base/schema/standard-schema.ts";
import type { CapabilityCaller } from "./capability.ts";
import type { RateLimit } from "./rate-limit.ts";

/** One method of a capability: its schemas, and its handler in the host. */
export interface CapabilityMethod {
  /**
   * Schema of the arguments: a JSON Schema, or a schema of a library. By default any arguments are accepted. A schema
   * of a library with checks beyond its JSON Schema, such as a `refine`, parses the arguments here before the handler.
   */
  readonly input?: Schema;
  readonly output?: Schema;
  /**
   * Maximum length of the arguments' JSON, in UTF-16 units: then `capability_limit`. The host's main thread parses them.
   * Default 256 KiB.
   */
  readonly inputBytes?: number;
  /**
   * Whether it has no effects: a call repeats it after the loss of its process, without a decision by a person.
   * Default: `false`.
   */
  readonly isRead?: boolean;
  /**
   * Whether a stored call may repeat it if its process was lost meanwhile: the handler gets the same `once`, and has to
   * ensure that the effect happens once. Otherwise a person has to say whether it happened. Default: `false`.
   */
  readonly isRepeatable?: boolean;
  // The embedder's schema determines the type of the arguments, so the handler declares it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handler: (args: any, call: HandlerCall) => unknown;
}

/** The second argument of a handler. */
export interface HandlerCall extends CapabilityCaller {
  /**
   * Name of this effect, made by the engine: different in each capability call, and the same if a stored call repeats
   * it after the loss of its process. At most 64 characters: fit for an `Idempotency-Key`.
   */
  readonly once: string;
  /** Reports progress, a JSON value, to the tool's `onProgress`. Does nothing if the tool has none. */
  readonly progress: (value: unknown) => void;
  /**
   * Replaces the engine's secrets in a text by their placeholders, in the forms in which servers echo them: for
   * handlers that use a secret themselves, and return or throw the answer of a server. Nothing else that a handler
   * returns is searched for secrets.
   */
  readonly redact: (text: string) => string;
}

/** The types of a method: the arguments that a tool writes, and the answer that it reads. */
export interface MethodTypes {
  readonly args: unknown;
  readonly answer: unknown;
}

/** Types of methods by their names. */
export interface MethodTypesByName {
  readonly [method: string]: MethodTypes;
}

/** A capability of the embedder's own. `Methods` has the types that both sides share. */
export interface CustomCapability<
  Name extends string = string,
  Methods extends { readonly [M in keyof Methods]: MethodTypes } = MethodTypesByName,
> {
  readonly name: Name;
  readonly methods: { readonly [M in keyof Methods]: CapabilityMethod };
  /**
   * Maximum rate of each tenant's calls, over all methods; calls above it fail with `capability_limit`. Default: no
   * limit.
   */
  readonly rateLimit?: RateLimit;
  /** Types only; absent at run time. */
  readonly "~types"?: Methods;
}

/** Type of a handler's arguments. Without a schema nothing checks them, and the handler declares their type. */
// oxlint-disable-next-line typescript/no-explicit-any
type HandlerArgs<S> = [Schema] extends [S] ? any : SchemaOutput<S>;
type HandlerAnswer<Outs, M> = M extends keyof Outs
  ? [Schema] extends [Outs[M]]
    ? unknown
    : SchemaInput<Outs[M]>
  : unknown;

/** Schemas by the names of methods; `unknown` for a method without one. */
export interface SchemasByMethod {
  readonly [method: string]: unknown;
}

/** A capability as `defineCapability` takes it: a handler's types follow from its schemas. */
export interface CapabilityDefinition<Name extends string, Ins extends SchemasByMethod, Outs extends SchemasByMethod> {
  readonly name: Name;
  readonly rateLimit?: RateLimit;
  readonly methods: {
    readonly [M in keyof Ins]: {
      readonly input?: Ins[M];
      readonly output?: Schema;
      readonly inputBytes?: number;
      readonly isRead?: boolean;
      readonly isRepeatable?: boolean;
      readonly handler: (
        args: HandlerArgs<Ins[M]>,
        call: HandlerCall,
      ) => HandlerAnswer<Outs, M> | Promise<HandlerAnswer<Outs, M>>;
    };
  } & {
    // Names the other members as well: else they would be excess if no method has an output.
    readonly [M in keyof Outs]: {
      readonly output?: Outs[M];
      readonly input?: unknown;
      readonly inputBytes?: unknown;
      readonly isRead?: unknown;
      readonly isRepeatable?: unknown;
      readonly handler?: unknown;
    };
  };
}

/** The capability that `defineCapability` makes of schemas. */
export type DefinedCapability<
  Name extends string,
  Ins extends SchemasByMethod,
  Outs extends SchemasByMethod,
> = CustomCapability<
  Name,
  {
    readonly [M in keyof Ins]: {
      readonly args: SchemaInput<Ins[M]>;
      readonly answer: M extends keyof Outs ? Jsonify<SchemaOutput<Outs[M]>> : unknown;
    };
  }
>;

/** The second argument of a capability's method in `context.host`. */
export interface CapabilityProgress {
  /** Called with each progress value of the handler. `missed`: number of values dropped before it. */
  readonly onProgress?: (value: unknown, more: { readonly missed: number }) => void;
}

type MethodsOf<C> = C extends { readonly "~types"?: infer Methods } ? NonNullable<Methods> : never;

/** A tool's side of a capability: the methods in `context.host.<name>`. */
export type CapabilityClient<C> = {
  readonly [M in keyof MethodsOf<C>]: MethodsOf<C>[M] extends MethodTypes
    ? unknown extends MethodsOf<C>[M]["args"]
      ? (args?: unknown, options?: CapabilityProgress) => Promise<MethodsOf<C>[M]["answer"]>
      : (args: MethodsOf<C>[M]["args"], options?: CapabilityProgress) => Promise<MethodsOf<C>[M]["answer"]>
    : never;
};

/** A list or an object of capabilities, as an object by their names. */
export type CapabilitiesOf<T> = T extends readonly (infer C)[]
  ? { readonly [One in C as NameOf<One>]: One }
  : { readonly [K in keyof T as NameOf<T[K]>]: T[K] };
type NameOf<C> = C extends { readonly name: infer Name extends string } ? Name : never;
