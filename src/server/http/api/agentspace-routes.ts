import { json, refusals, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const PARAMS = { id: "The tool's id." };
const ETAG = { ETag: "Identifies the record that is in force." };
const CACHED = { "If-None-Match": "ETags of the client's cached copies." };
const UNCHANGED = { 304: { description: "The client's cached copy is current." } };
const MISSING = "There is no such record of the caller's tenant.";
const UNREADABLE = { 400: "The query is wrong: `error.message` says where.", 503: "Too many searches, or stopping." };
const FILTER = {
  tag: "A tag that the record has; may be repeated.",
  type: "Its type.",
  sub_type: "Its sub type.",
  limit: "Maximum number of records, 1 to 100.",
};

const RECORD = {
  tool_id: "greeting-tool-v1",
  tool_runtime_type: "python",
  tool_source_code_link: "https://assets.example.com/tools/greeting-tool.zip",
  tool_search_description: "Greets a person by name",
  tool_data: { language: "en" },
  tools_api_spec: {
    input: { name: { type: "string", description: "The name to greet" } },
    output: { message: { type: "string", description: "The resulting greeting" } },
  },
};

export const REGISTER_RECORD: RouteDescription = {
  id: "registerRecord",
  tag: "registry",
  summary: "Registers an AgentSpace tool by its record.",
  description:
    "The record belongs to the tenant of the key. Its tool is loaded by its first call. A link to an upload of this server is read from its store; other links are fetched, where the operator allows their origins.",
  query: { replace: "`true`: replaces the record of this id; a version: only where that one is in force." },
  body: { "application/json": { schema: SCHEMAS.RegistrationRecord, example: RECORD } },
  answers: {
    201: { ...json("The record is stored.", SCHEMAS.RegisteredRecord), headers: ETAG },
    ...refusals({
      400: "The record is wrong: `error.details.pointer` says where.",
      409: "There is a tool of this id that the request does not replace.",
      413: "The record is too large, or the registry has no room.",
      503: "The server is stopping, or its store failed.",
    }),
  },
};

export const REMOVE_RECORD: RouteDescription = {
  id: "removeRecord",
  tag: "registry",
  summary: "Removes a record, with its tool and its versions.",
  description: "Running calls continue to their end.",
  params: PARAMS,
  answers: { 204: { description: "The record is removed." }, ...refusals({ 404: MISSING }) },
};

export const LIST_RECORDS: RouteDescription = {
  id: "listRecords",
  tag: "registry",
  summary: "Lists records, ordered by id.",
  query: { ...FILTER, after: "`next` of the page before." },
  answers: { 200: json("Some of the records.", SCHEMAS.RecordPage), ...refusals(UNREADABLE) },
};

export const SEARCH_RECORDS: RouteDescription = {
  id: "searchRecords",
  tag: "registry",
  summary: "Finds records by words, the best first.",
  query: { q: "Words; without any, all records are found.", ...FILTER },
  answers: { 200: json("The records that fit.", SCHEMAS.FoundRecords), ...refusals(UNREADABLE) },
};

/** A route about one record. */
function ofRecord(id: string, summary: string, answer: RouteDescription["answers"][number]): RouteDescription {
  return {
    id,
    tag: "registry",
    summary,
    params: PARAMS,
    headers: CACHED,
    answers: { 200: { ...answer, headers: ETAG }, ...UNCHANGED, ...refusals({ 404: MISSING }) },
  };
}

export const GET_RECORD = ofRecord(
  "getRecord",
  "Tells a record, without the values of its `tool_data`.",
  json("The record, by whom it was registered, and when.", SCHEMAS.RegisteredRecord),
);

export const GET_MAN_PAGE = ofRecord("getManPage", "Tells a tool's manual page.", {
  description: "The page, in Markdown.",
  content: { "text/markdown": { schema: { type: "string" } } },
});

export const GET_FORM = ofRecord(
  "getForm",
  "Tells the form of a tool's input, as data and as HTML.",
  json("The form.", SCHEMAS.RecordForm),
);

export const GET_VERSIONS = ofRecord(
  "getVersions",
  "Lists the versions of a record, the latest first.",
  json("At most 50 versions; `in_force` marks the one that calls run.", SCHEMAS.RecordVersions),
);

export const GET_SPEC = ofRecord(
  "getSpec",
  "Tells a tool's specification as JSON Schemas.",
  json("The schemas of its input and its output.", SCHEMAS.RecordSpec),
);

const COMMANDS = ofRecord(
  "getCommands",
  "Lists a tool's commands, as far as its code shows them.",
  json("Its commands.", SCHEMAS.RecordCommands),
);
export const GET_COMMANDS: RouteDescription = {
  ...COMMANDS,
  description: "Loads the tool, as its first call would: its code says which commands it knows.",
  answers: { ...COMMANDS.answers, ...refusals({ 422: "The tool could not be loaded: `error.message` says why." }) },
};
