export const spec = {
  name: "greet",
  description: "Greets somebody in one of three languages.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1 },
      language: { enum: ["en", "de", "fr"], default: "en" },
    },
    required: ["name"],
  },
};

const greetings: Record<string, string> = { en: "Hello", de: "Hallo", fr: "Bonjour" };

export default ({ name, language }: { name: string; language: string }) => {
  return { text: `${greetings[language]}, ${name}!` };
};
