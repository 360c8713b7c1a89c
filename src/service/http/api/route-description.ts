import { type ApiSchema, SCHEMAS } from "./schemas.ts";

/** A body by its media type: what it is, and one as an example. */
export type ApiContent = Readonly<Record<string, { readonly schema: ApiSchema; readonly example?: unknown }>>;

export interface ApiAnswer {
  readonly description: string;
  readonly content?: ApiContent;
  /** By name: what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the API's description says of a route: all of it that clients may rely on. */
export interface RouteDescription {
  /** The name of the operation: what a generated client calls it. */
  readonly id: string;
  readonly tag: "calls" | "tools" | "packages" | "watching" | "protocols";
  readonly summary: string;
  readonly description?: string;
  /** What stands in the address, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /** What may stand behind the question mark, by name. */
  readonly query?: Readonly<Record<string, string>>;
  /** Headers that the route looks at, by name: what they do. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ApiContent;
  /** By status. What every route of its role may answer need not be said. */
  readonly answers: Readonly<Record<number, ApiAnswer>>;
  /** The events of a stream, by name. */
  readonly events?: Readonly<Record<string, ApiSchema>>;
}

/** An answer in JSON. */
export function json(description: string, schema: ApiSchema, example?: unknown): ApiAnswer {
  return { description, content: { "application/json": { schema, ...(example === undefined ? {} : { example }) } } };
}

/** Answers in the form of a failed result, by status. */
export function refusals(descriptions: Readonly<Record<number, string>>): Readonly<Record<number, ApiAnswer>> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [status, json(description, SCHEMAS.ToolResult)]),
  );
}
