import { type ApiAnswer, json, problemJson, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const FORM = {
  type: "object",
  properties: {
    asset: { type: "string", format: "binary", description: "The package." },
    asset_metadata: { type: "string", description: "Metadata of the package, as JSON." },
  },
  required: ["asset", "asset_metadata"],
};

/** An error of the route, or of the access check before it. */
function refused(description: string): ApiAnswer {
  const { content } = json(description, SCHEMAS.ToolResult);
  return { description, content: { ...content, ...problemJson(description, SCHEMAS.AssetError).content } };
}

export const UPLOAD_ASSET: RouteDescription = {
  id: "uploadAsset",
  tag: "packages",
  summary: "Uploads an AgentSpace package.",
  body: { "multipart/form-data": { schema: FORM } },
  answers: {
    200: json("The same package was uploaded before.", SCHEMAS.Asset),
    201: json("The package is stored.", SCHEMAS.Asset),
    400: problemJson("The upload or its metadata are wrong.", SCHEMAS.AssetError),
    403: refused("The key lacks the role, or the request comes from another site's page."),
    409: problemJson("The version exists with other content.", SCHEMAS.AssetError),
    413: problemJson("The package is too large, or the store is full.", SCHEMAS.AssetError),
    415: problemJson("The body is not a form, or the file is not a package.", SCHEMAS.AssetError),
    500: problemJson("Internal error.", SCHEMAS.AssetError),
    429: refused("Too many requests, or too many uploads at once."),
  },
};

export const GET_ASSET: RouteDescription = {
  id: "getAsset",
  tag: "packages",
  summary: "Downloads a package.",
  params: { name: "Its name.", version: "Its version, or a tag such as `latest`.", file: "Its file's name." },
  headers: { "If-None-Match": "ETags of the client's cached copies." },
  answers: {
    200: {
      description: "The package.",
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
      headers: { ETag: "Identifies the content.", "Repr-Digest": "Its SHA-256." },
    },
    304: { description: "The client's cached copy is current." },
    404: problemJson("There is no such package.", SCHEMAS.PlainError),
  },
};
