import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { describeFailure, isBusy } from "../../../src/kernel/store/sqlite/failure.ts";

/** The error of a program that wants to write while another connection has the file locked. */
function lockedError(): unknown {
  using kept = new DisposableStack();
  const folder = kept.adopt(mkdtempSync(join(tmpdir(), "glovebox-failure-")), (path) =>
    rmSync(path, { recursive: true }),
  );
  const file = join(folder, "a.sqlite");
  const [one, other] = [file, file].map((path) => kept.adopt(new DatabaseSync(path), (database) => database.close()));
  one?.exec("CREATE TABLE rows (id INTEGER); BEGIN EXCLUSIVE");
  try {
    other?.exec("INSERT INTO rows VALUES (1)");
    return null;
  } catch (error) {
    return error;
  }
}

test("a file that another process has locked is called so, with what to do", () => {
  const error = lockedError();
  expect(isBusy(error)).toBe(true);
  expect(describeFailure(error).message).toMatch(/^the store is locked: another process .*; end that process$/);
});
