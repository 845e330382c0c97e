// What an agent does with the example: it writes a draft, and answers the question about it.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const agent = new Client({ name: "agent", version: "1" });
await agent.connect(new StreamableHTTPClientTransport(new URL(process.argv[2] + "/mcp")));
const asks = await agent.callTool({ name: "draft", arguments: { topic: "looms" } });
const { thread_id, questions: [question] } = asks.structuredContent;
assert.equal(question.prompt, "Publish?");
const done = await agent.callTool({
  name: "answer_question",
  arguments: { thread_id, question_id: question.question_id, answer: true },
});
assert.deepEqual(done.structuredContent, { topic: "looms", text: "All about looms.", published: true });
await agent.close();
