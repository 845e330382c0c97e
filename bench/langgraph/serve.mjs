// Serves 20 graphs with the LangGraph server for JavaScript, which keeps its threads in memory, and
// prints its address; ../serve.go runs it.
//
//   node serve.mjs PORT FOLDER     the server writes to the folder when it ends
import { join } from "node:path";
import { startServer } from "@langchain/langgraph-api/server";

const [port, cwd] = process.argv.slice(2);
const file = join(import.meta.dirname, "served.mjs");
const graphs = { tokens: `${file}:tokens`, steps: `${file}:steps` };
for (let i = 1; i < 19; i++) graphs[`steps${i}`] = graphs.steps;

await startServer({ port: Number(port), nWorkers: 10, host: "127.0.0.1", cwd, graphs });
console.log(`listening on http://127.0.0.1:${port}`);
