import { printClaims, readClaims } from "../proofs.ts";

process.stdout.write(printClaims(readClaims(), process.argv.slice(2)));
