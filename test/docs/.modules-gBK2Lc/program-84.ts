import { createEngine } from "glovebox";

// As a file: entry: "answer.wasm".
const source =
  "AGFzbQEAAAABGQNgCX9/f39/fn5/fwF/YAR/f39/AX9gAAACRgIWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQlwYXRoX29wZW4AABZ3YXNpX3NuYXBzaG90X3By" +
  "ZXZpZXcxCGZkX3dyaXRlAAEDAgECBQMBAAEHEwIGbWVtb3J5AgAGX3N0YXJ0AAIKLwEtAEEDQQBBLUEPQQFCwABCwABBAEGA9AMQABpBgPQDKAIAQQBBAUGE" +
  "9AMQARoLCy8CAEEACwggAAAADQAAAABBIAsceyJhbnN3ZXIiOjQyfW91dC9vdXRwdXQuanNvbg==";
await using engine = await createEngine({ workers: 1 });
await engine.register({ name: "answer", description: "Knows the answer.", runtime: "wasi", source });
console.log((await engine.execute({ name: "answer", arguments: {} })).output); // prints: { answer: 42 }
