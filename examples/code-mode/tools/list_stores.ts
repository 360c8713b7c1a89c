export const spec = { name: "list_stores", description: "Lists the stores, each with id and city." };

export default () => "Oslo Rome Bern Lima Kyiv Doha Baku Riga Suva Apia".split(" ").map((city, id) => ({ id, city }));
