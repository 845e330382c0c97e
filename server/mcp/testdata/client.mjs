// Runs an assistant and answers its question with the official client. The argument is a URL, or a
// command to start.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "weft");

const { tools } = await client.listTools();
const tool = tools.find((t) => t.name === "draft");
assert.ok(tool.inputSchema.properties.topic);
assert.equal(tool.annotations.openWorldHint, true);

const done = await client.callTool({ name: "draft", arguments: { topic: "looms" } });
assert.equal(done.structuredContent.text, "about looms");

const asks = await client.callTool({ name: "draft", arguments: { topic: "weaving", review: true } });
assert.equal(asks.isError, true);
const { thread_id, questions } = asks.structuredContent;
assert.equal(questions[0].prompt, "Publish?");

const { contents } = await client.readResource({ uri: "weft://questions" });
assert.equal(JSON.parse(contents[0].text).questions[0].question_id, questions[0].question_id);

const answered = await client.callTool({
  name: "answer_question",
  arguments: { thread_id, question_id: questions[0].question_id, answer: true },
});
assert.equal(answered.structuredContent.text, "about weaving");
await client.close();
