import { CONTRACTS } from "glovebox/contracts";

console.log(CONTRACTS.size, [...CONTRACTS.keys()].includes("mcp")); // prints: 11 true
