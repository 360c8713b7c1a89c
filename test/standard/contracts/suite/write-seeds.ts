import { writeFileSync } from "node:fs";
import { findProofs, SEEDS, writeSeeds } from "./seeds.ts";

writeFileSync(SEEDS, writeSeeds(findProofs()));
