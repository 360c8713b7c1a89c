import { createEngine, unwrap } from "glovebox";
import { codeMode } from "glovebox/code-mode";

const crm = [
  {
    name: "crm.list_customers",
    description: "Lists customers.",
    outputSchema: {
      type: "array",
      items: { type: "object", properties: { id: { type: "number" } }, required: ["id"] },
    },
    source: "export default () => [1, 2, 3].map((id) => ({ id }))",
  },
  {
    name: "crm.orders",
    description: "Orders of a customer.",
    inputSchema: { type: "object", properties: { customer: { type: "number" } }, required: ["customer"] },
    source: "export default ({ customer }) => Array.from({ length: customer }, () => ({ total: 10 }))",
  },
];
await using engine = await createEngine({ workers: 1, tools: crm });
const mode = codeMode(engine, { tools: ["crm.*"], tokens: 4_000 });
console.log(mode.list().map(({ name }) => name));
// prints: [ 'run_code', 'search_tools' ]

const code = `
  const customers = await tools.crm.list_customers({});
  const orders = await Promise.all(customers.map(({ id }) => tools.crm.orders({ customer: id })));
  return orders.flat().reduce((sum, { total }) => sum + total, 0);
`;
const { result, calls } = unwrap(await mode.run(code));
console.log(result, calls.length);
// prints: 60 4
