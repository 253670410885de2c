import { PGlite } from "@electric-sql/pglite";
import { afterAll, expect, test } from "vitest";
import { postgres } from "../../src/stores/postgres/index.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

// One database for all, emptied after each test: starting one takes a second.
const db = await PGlite.create();
afterAll(() => db.close());

storeContract(
  "pglite",
  ({ now }) => ({
    store: postgres(db, { now }),
    dispose: async () => {
      await db.exec("truncate lull.lull_record, lull.lull_log, lull.lull_timer, lull.lull_seen");
    },
  }),
  { test: (name, body) => test(name, body, 60_000), expect },
);
