import type { CallLedger, LedgerOptions } from "./ledger.ts";
import { RedisLedger } from "./redis-ledger.ts";
import { SqliteLedger } from "./sqlite-ledger.ts";

/** Nothing is opened yet: that is done with the first call that has a key. */
export function createLedger(options: LedgerOptions): CallLedger {
  switch (options.kind) {
    case "sqlite":
      return new SqliteLedger(options);
    case "redis":
      return new RedisLedger(options);
  }
}
