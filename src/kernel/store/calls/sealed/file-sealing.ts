import type { DatabaseSync } from "node:sqlite";
import { Seal } from "../../seal.ts";
import { type DatabaseLayout, ForeignStoreError } from "../../sqlite/layout.ts";
import { CALLS_LAYOUT, SEALED_ID } from "../call-tables.ts";
import type { DurableCapacity } from "../durable/durable-call.ts";
import { FROM_6_SQL } from "../durable/durable-layout.ts";
import type { LedgerTables } from "../ledger-tables.ts";
import { KeptSeal } from "./kept-seal.ts";
import { SealedLedger } from "./sealed-ledger.ts";
import { SealedTables } from "./sealed-tables.ts";

const PLAIN =
  "its calls are in plain text, and there is a calls.secret: name a new file as calls.path, or leave the secret out until the calls of this file have ended";
const OTHER_SECRET =
  "its calls were sealed with another calls.secret (GLOVEBOX_CALLS_SECRET): set that one, or name another file as calls.path";

/** The tables of a file without a secret, and a mark of the secret; it is another program's for engines that cannot open it. */
const SEALED_LAYOUT: DatabaseLayout = {
  applicationId: SEALED_ID,
  version: CALLS_LAYOUT.version,
  sql: `${CALLS_LAYOUT.sql} CREATE TABLE seal (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;`,
  earlier: [
    { applicationId: SEALED_ID, version: 6, sql: FROM_6_SQL },
    ...[CALLS_LAYOUT, ...(CALLS_LAYOUT.earlier ?? [])].map(({ applicationId, version }) => {
      return { applicationId, version, sql: "", refusal: PLAIN };
    }),
  ],
};

/** Opens the tables of a file that is sealed with a secret. */
export class FileSealing {
  readonly layout = SEALED_LAYOUT;
  readonly kept: KeptSeal;
  readonly #seal: Seal;

  private constructor(seal: Seal) {
    this.#seal = seal;
    this.kept = new KeptSeal(seal);
  }

  /** Takes tens of milliseconds. */
  static of(secret: string): FileSealing {
    return new FileSealing(Seal.of(secret));
  }

  /** Marks a new file. Throws a `ForeignStoreError` if it has the mark of another secret. */
  check(database: DatabaseSync): void {
    const find = database.prepare("SELECT mark FROM seal");
    if (find.get() === undefined) database.prepare("INSERT OR IGNORE INTO seal VALUES (1, ?)").run(this.#seal.mark);
    this.checkMark(database);
  }

  /** The same check for a file that is only read. */
  checkMark(database: DatabaseSync): void {
    const mark = database.prepare("SELECT mark FROM seal").get()?.["mark"];
    if (mark !== this.#seal.mark) throw new ForeignStoreError(OTHER_SECRET);
  }

  durable(database: DatabaseSync, room: DurableCapacity): SealedTables {
    return new SealedTables(database, room, this.#seal);
  }

  ledger(tables: LedgerTables): SealedLedger {
    return new SealedLedger(tables, this.#seal);
  }
}
