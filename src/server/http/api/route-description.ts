import { type ApiSchema, SCHEMAS } from "./schemas.ts";

/** Schema and example of a body, by media type. */
export type ApiContent = Readonly<Record<string, { readonly schema: ApiSchema; readonly example?: unknown }>>;

export interface ApiAnswer {
  readonly description: string;
  readonly content?: ApiContent;
  /** Descriptions by header name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Description of a route in the OpenAPI document. */
export interface RouteDescription {
  /** `operationId`, the method name in generated clients. */
  readonly id: string;
  readonly tag: "calls" | "tools" | "packages" | "registry" | "watching" | "protocols";
  readonly summary: string;
  readonly description?: string;
  /** Path parameters, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /** Query parameters, by name. */
  readonly query?: Readonly<Record<string, string>>;
  /** Descriptions of the request headers that the route reads, by name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ApiContent;
  /** Responses by status, without those common to all routes of the role. */
  readonly answers: Readonly<Record<number, ApiAnswer>>;
  /** Events of a stream, by name. */
  readonly events?: Readonly<Record<string, ApiSchema>>;
}

/** A JSON response. */
export function json(description: string, schema: ApiSchema, example?: unknown): ApiAnswer {
  return { description, content: { "application/json": { schema, ...(example === undefined ? {} : { example }) } } };
}

/** An error that is not a result: problem details of RFC 9457. */
export function problemJson(description: string, schema: ApiSchema): ApiAnswer {
  return { description, content: { "application/problem+json": { schema } } };
}

/** Responses in the form of a failed result, by status. */
export function refusals(descriptions: Readonly<Record<number, string>>): Readonly<Record<number, ApiAnswer>> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [status, json(description, SCHEMAS.ToolResult)]),
  );
}
