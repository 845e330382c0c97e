// Talks with an assistant with the official client of version 1.0.
import assert from "node:assert/strict";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const address = process.argv[2];
const connect = (name) => new ClientFactory().createFromUrl(address, `/.well-known/agent-card.json?assistant_id=${name}`);
const client = await connect("talk");
const text = (value, more = {}) => ({
  message: { messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts: [{ content: { $case: "text", value }, mediaType: "text/plain" }], ...more },
});
const texts = (parts) => parts.filter((p) => p.content.$case === "text").map((p) => p.content.value).join("");

const done = await client.sendMessage(text("hello"));
assert.equal(done.status.state, TaskState.TASK_STATE_COMPLETED);
assert.deepEqual(done.artifacts.map((a) => texts(a.parts)), ["Hello, world."]);
const again = await client.getTask({ id: done.id, historyLength: 10 });
assert.equal(again.status.state, TaskState.TASK_STATE_COMPLETED);
assert.deepEqual(again.history.map((m) => texts(m.parts)), ["hello", "Hello, world."]);

const said = {}, states = [];
let tool;
for await (const event of client.sendMessageStream(text("weather", { contextId: done.contextId }))) {
  const { $case, value } = event.payload;
  if ($case === "statusUpdate") states.push(value.status.state);
  if ($case !== "artifactUpdate") continue;
  const { artifactId, parts } = value.artifact;
  if (parts[0].content.$case === "data") tool = parts[0].content.value;
  else said[artifactId] = (said[artifactId] ?? "") + texts(parts);
}
assert.deepEqual(states, [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED]);
assert.deepEqual(Object.values(said), ["It is sunny."]);
assert.equal(tool.content, "sunny");

const asks = await client.sendMessage(text("ask"));
assert.equal(asks.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
assert.equal(texts(asks.status.message.parts), "Send it?");
const answered = await client.sendMessage(text("true", { contextId: asks.contextId, taskId: asks.id }));
assert.equal(answered.id, asks.id);
assert.equal(answered.status.state, TaskState.TASK_STATE_COMPLETED);
assert.equal(texts(answered.artifacts.at(-1).parts), "Sent.");
assert.equal((await client.getTask({ id: asks.id })).status.state, TaskState.TASK_STATE_COMPLETED);

const fails = await client.sendMessage(text("fail"));
assert.equal(fails.status.state, TaskState.TASK_STATE_FAILED);
assert.match(texts(fails.status.message.parts), /the model is down/);

const request = text("wait");
request.configuration = { acceptedOutputModes: [], returnImmediately: true };
const waits = await client.sendMessage(request);
assert.ok([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(waits.status.state));
const cancelled = await client.cancelTask({ id: waits.id });
assert.equal(cancelled.status.state, TaskState.TASK_STATE_CANCELED);
await assert.rejects(client.cancelTask({ id: waits.id }));
await assert.rejects(client.getTask({ id: `${waits.contextId}:${waits.contextId}` }));

const double = await connect("double");
const data = text("");
data.message.parts = [{ content: { $case: "data", value: { n: 21 } }, mediaType: "application/json" }];
const result = await double.sendMessage(data);
assert.equal(result.artifacts[0].parts[0].content.value.double, 42);
