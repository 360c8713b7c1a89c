import { createEngine } from "glovebox";

await using engine = await createEngine({
  workers: 1,
  tools: ["greet.ts"],
  policy: { rules: [{ allow: { env: ["REGION"] } }] },
  calls: { path: ":memory:", keep: "everything" },
});
await engine.execute({ id: "c1", name: "greet", arguments: {} });

const policy = `
rules:
  - tools: [other]
    allow: { env: [REGION] }
`;
const { grants, changes } = await engine.simulatePolicy({ policy, call: { tool: "greet" } });
console.log(grants); // prints: []
console.log(changes.map(({ id, was, would, rule }) => [id, was, would, rule].join(" "))); // prints: [ 'c1 ok denied policy.rules[0]' ]
