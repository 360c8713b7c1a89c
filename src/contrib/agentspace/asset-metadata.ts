import {
  type JsonMembers,
  memberOf,
  type Place,
  readJsonMembers,
  readList,
  readMembers,
  readOptional,
  readText,
  wrong,
} from "./contract/reading.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { describeExcess } from "../../kernel/base/json.ts";
import { AssetError } from "./asset-error.ts";

/** Metadata of an upload: the form's field `asset_metadata`. */
export interface AssetMetadata {
  readonly asset_name: string;
  /** `tag` names one of the asset's versions, such as `stable`: the latest one uploaded with it. */
  readonly asset_version: { readonly version: string; readonly tag?: string };
  /** `description`, and any further members to store. */
  readonly asset_metadata: JsonMembers;
  readonly asset_tags: readonly string[];
}

/** Part of URLs, never of a path on disk. */
const NAME = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/;
const NAME_MAX_CHARACTERS = 128;
const DESCRIPTION_MAX_CHARACTERS = 10_000;
const TAGS_MAX = 64;
const TAG_MAX_CHARACTERS = 64;

/** Parses the field's text. Throws an `AssetError` with a pointer to the error. */
export function readAssetMetadata(text: string): AssetMetadata {
  try {
    return read({ value: parse(text), pointer: "" });
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    const problem = error.message.replace(/^agentspace /, "");
    throw new AssetError("bad_metadata", `asset_metadata is wrong: ${problem}`, error.pointer);
  }
}

function parse(text: string): unknown {
  try {
    if (describeExcess(text) === null) return parseForWriting(text);
  } catch {
    // Reported below.
  }
  throw new AssetError("bad_metadata", "asset_metadata is not JSON", "");
}

function read(place: Place): AssetMetadata {
  const members = readMembers(place);
  const version = memberOf(members, place, "asset_version");
  const versions = readMembers(version);
  const tag = readOptional(memberOf(versions, version, "tag"), readName);
  const more = readOptional(memberOf(members, place, "asset_metadata"), readMore) ?? {};
  const tags = readOptional(memberOf(members, place, "asset_tags"), (one) => readList(one, TAGS_MAX)) ?? [];
  return {
    asset_name: readName(memberOf(members, place, "asset_name")),
    asset_version: {
      version: readName(memberOf(versions, version, "version")),
      ...(tag === undefined ? {} : { tag }),
    },
    asset_metadata: more,
    asset_tags: tags.map((one) => readText(one, TAG_MAX_CHARACTERS)),
  };
}

function readName(place: Place): string {
  const name = readText(place, NAME_MAX_CHARACTERS);
  if (NAME.test(name)) return name;
  throw wrong(place, "must be made of 1 to 128 of A-Z a-z 0-9 _ . -");
}

function readMore(place: Place): JsonMembers {
  const members = readJsonMembers(place);
  readOptional(memberOf(members, place, "description"), (one) => readText(one, DESCRIPTION_MAX_CHARACTERS));
  return members;
}
