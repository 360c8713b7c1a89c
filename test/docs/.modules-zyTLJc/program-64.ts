import { createClient } from "glovebox/client";

const client = createClient({
  url: "https://tools.example.com",
  key: () => sessionToken(),
  headers: { "x-team": "search" },
});

async function sessionToken(): Promise<string> {
  return "gb_…";
}
console.log(typeof client.tools["greet"]); // prints: function
