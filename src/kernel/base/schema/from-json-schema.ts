/** Values as callers write them (`input`), or as a tool reads them after defaults are filled in (`output`). */
export type SchemaSide = "input" | "output";

type Depth = readonly 0[];

/**
 * The type of the values that a JSON Schema accepts, if the schema's literal is known. A keyword that is not
 * understood, and a schema of more than ten levels, give `unknown`. `At` is `input` or `output`.
 */
export type FromJsonSchema<S, At extends SchemaSide = "output", D extends Depth = []> = D["length"] extends 10
  ? unknown
  : S extends false
    ? never
    : S extends { readonly const: infer C }
      ? C
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly anyOf: readonly (infer A)[] } | { readonly oneOf: readonly (infer A)[] }
          ? FromJsonSchema<A, At, [...D, 0]>
          : S extends { readonly type: readonly (infer T)[] }
            ? FromType<T, S, At, D>
            : S extends { readonly type: infer T }
              ? FromType<T, S, At, D>
              : unknown;

type FromType<T, S, At extends SchemaSide, D extends Depth> = T extends "string"
  ? string
  : T extends "number" | "integer"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? S extends { readonly items: infer I }
            ? readonly FromJsonSchema<I, At, [...D, 0]>[]
            : readonly unknown[]
          : T extends "object"
            ? S extends { readonly properties: infer P }
              ? FromObject<P, RequiredOf<S>, At, D>
              : S extends { readonly additionalProperties: infer A extends object }
                ? { readonly [key: string]: FromJsonSchema<A, At, [...D, 0]> }
                : { readonly [key: string]: unknown }
            : unknown;

type RequiredOf<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;
type Defaulted<P> = { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P];
type Always<P, R, At extends SchemaSide> = Extract<keyof P, R> | (At extends "output" ? Defaulted<P> : never);
type FromObject<P, R, At extends SchemaSide, D extends Depth> = Simplify<
  { readonly [K in Always<P, R, At>]: FromJsonSchema<P[K], At, [...D, 0]> } & {
    readonly [K in Exclude<keyof P, Always<P, R, At>>]?: FromJsonSchema<P[K], At, [...D, 0]>;
  }
>;

/** The same type, shown as one object. */
export type Simplify<T> = { [K in keyof T]: T[K] } & {};
