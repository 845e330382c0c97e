// Chats with an assistant with the official client.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";

const url = process.argv[2] + "/agui/talk";
const headers = { "X-Api-Key": "key of ada" };
const agent = new HttpAgent({ url, headers, threadId: "a chat of mine" });
const say = async (content, more = {}) => {
  if (content) agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  const types = [], custom = [];
  const result = await agent.runAgent(more, {
    onEvent: ({ event }) => { types.push(event.type); if (event.type === "CUSTOM") custom.push(event); },
  });
  return { ...result, types, custom };
};
const text = (m) => m.content;

const hello = await say("hello");
assert.deepEqual(hello.newMessages.filter((m) => m.role === "assistant").map(text), ["Hello, world."]);
assert.deepEqual(hello.newMessages.filter((m) => m.role === "reasoning").map(text), ["Hm."]);
assert.equal(hello.types[0], "RUN_STARTED");
assert.equal(hello.types.at(-1), "RUN_FINISHED");
for (const type of ["STEP_STARTED", "STEP_FINISHED", "TEXT_MESSAGE_CONTENT", "STATE_SNAPSHOT"]) assert.ok(hello.types.includes(type), type);
assert.equal(hello.custom[0].name, "note");
assert.equal(agent.state.mood, "good");

const tool = await say("weather");
const call = tool.newMessages.find((m) => m.toolCalls?.length).toolCalls[0];
assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["weather", { city: "Rome" }]);
assert.equal(tool.newMessages.find((m) => m.role === "tool").content, "sunny");
assert.equal(tool.newMessages.at(-1).content, "It is sunny.");

await say("ask");
assert.equal(agent.pendingInterrupts.length, 1);
const [question] = agent.pendingInterrupts;
assert.equal(question.message, "Send it?");
assert.equal(question.responseSchema.type, "boolean");
const sent = await say("", { resume: [{ interruptId: question.id, status: "resolved", payload: true }] });
assert.equal(sent.newMessages.at(-1).content, "Sent.");
await say("ask");
const refused = await say("", { resume: [{ interruptId: agent.pendingInterrupts[0].id, status: "cancelled" }] });
assert.equal(refused.newMessages.at(-1).content, "Not sent.");

agent.setState({ ...agent.state, mood: "new" });
agent.addMessage({ id: "u-last", role: "user", content: "weather" });
await agent.runAgent();
assert.equal(agent.state.mood, "new");

// The thread has each message once.
const state = await (await fetch(process.argv[2] + "/threads/search", {
  method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: "{}",
})).json();
const said = state[0].values.messages.filter((m) => m.type === "human").map((m) => m.content);
assert.deepEqual(said, ["hello", "weather", "ask", "ask", "weather"]);

const failing = new HttpAgent({ url, headers });
failing.addMessage({ id: "u1", role: "user", content: "fail" });
let failure;
await failing.runAgent({}, { onRunErrorEvent: ({ event }) => { failure = event; } }).catch(() => {});
assert.match(failure.message, /the model is down/);
