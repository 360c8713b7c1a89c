import { json, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const FORM = {
  type: "object",
  properties: {
    asset: { type: "string", format: "binary", description: "The package." },
    asset_metadata: { type: "string", description: "What is said of it, as JSON." },
  },
  required: ["asset", "asset_metadata"],
};

/** By the route, or before it by who asks. */
const REFUSED = { anyOf: [SCHEMAS.AssetError, SCHEMAS.ToolResult] };

export const UPLOAD_ASSET: RouteDescription = {
  id: "uploadAsset",
  tag: "packages",
  summary: "Keeps a package of AgentSpace's.",
  body: { "multipart/form-data": { schema: FORM } },
  answers: {
    200: json("It was kept already.", SCHEMAS.Asset),
    201: json("It is kept.", SCHEMAS.Asset),
    400: json("The upload or its metadata are wrong.", SCHEMAS.AssetError),
    403: json("The key may not do that, or a page of another site asks.", REFUSED),
    409: json("That version is there already, with other content.", SCHEMAS.AssetError),
    413: json("It is too large, or there is no room for it.", SCHEMAS.AssetError),
    415: json("The body is no form, or the file no package.", SCHEMAS.AssetError),
    500: json("Something went wrong inside.", SCHEMAS.AssetError),
    429: json("Too many requests, or too many uploads at once.", REFUSED),
  },
};

export const GET_ASSET: RouteDescription = {
  id: "getAsset",
  tag: "packages",
  summary: "Gives a package out.",
  params: { name: "Its name.", version: "Its version, or a tag such as `latest`.", file: "Its file's name." },
  headers: { "If-None-Match": "ETags of what the client has already." },
  answers: {
    200: {
      description: "The package.",
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
      headers: { ETag: "Names the content.", "Repr-Digest": "Its SHA-256." },
    },
    304: { description: "It is what the client has." },
    404: json("There is no such package.", SCHEMAS.PlainError),
  },
};
