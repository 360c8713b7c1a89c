import { test } from "vitest";
import { BLOB_DEEDS, FORM_DEEDS } from "./data/blob.ts";
import { FETCH_DEEDS, HEADERS_DEEDS } from "./data/fetch.ts";
import { STREAM_DEEDS } from "./data/streams.ts";
import { expectDeeds } from "./deeds.ts";

test("headers do what the Fetch Standard says", async () => {
  await expectDeeds("headers", HEADERS_DEEDS);
});

test("requests and responses do what the Fetch Standard says", async () => {
  await expectDeeds("requests and responses", FETCH_DEEDS);
});

test("blobs and files do what the File API says", async () => {
  await expectDeeds("blobs", BLOB_DEEDS);
});

test("forms do what the standards say", async () => {
  await expectDeeds("forms", FORM_DEEDS);
});

test("streams do what the Streams Standard says", async () => {
  await expectDeeds("streams", STREAM_DEEDS);
});
