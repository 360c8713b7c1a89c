type IsAny<T> = 0 extends 1 & T ? true : false;
type Dropped = undefined | symbol | ((...args: never) => unknown);

/** The type of a value after its way through JSON: a `Date` is a string, functions and `undefined` are left out. */
export type Jsonify<T> =
  IsAny<T> extends true
    ? unknown
    : T extends { toJSON(): infer J }
      ? Jsonify<J>
      : T extends string | number | boolean | null
        ? T
        : T extends Dropped | bigint
          ? never
          : T extends readonly unknown[]
            ? { [K in keyof T]: Jsonify<T[K]> }
            : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
              ? { [key: string]: never }
              : T extends object
                ? { [K in keyof T as T[K] extends Dropped ? never : K]: Jsonify<T[K]> }
                : unknown;
