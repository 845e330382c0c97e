// Chats with an assistant with the official client.
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "key of ada" });
const user = (content) => ({ role: "user", content });
const ask = (messages, more = {}) => client.chat.completions.create({ model: "talk", messages, ...more });
const refused = async (promise, status, pattern) => {
  const error = await promise.then(() => assert.fail("it is refused"), (e) => e);
  assert.equal(error.status, status, error.message);
  assert.match(error.message, pattern);
};

// The models are the assistants with messages.
const models = [];
for await (const m of client.models.list()) models.push(m.id);
assert.deepEqual(models, ["talk"]);
assert.equal((await client.models.retrieve("talk")).owned_by, "weft");
await refused(client.models.retrieve("none"), 404, /No assistant/);

// Without a thread the messages are the conversation.
const hello = await ask([{ role: "system", content: "be kind" }, user("hi"), { role: "assistant", content: "Hi." }, user("hello")], { temperature: 0.5 });
assert.equal(hello.object, "chat.completion");
assert.equal(hello.choices[0].message.content, "Hello, world.");
assert.equal(hello.choices[0].message.reasoning_content, "Hm.");
assert.equal(hello.choices[0].finish_reason, "stop");
assert.deepEqual(hello.usage, { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });

// A stream has the same text, in pieces. A tool of the graph is not for the client.
const streamed = async (messages, more) => {
  let text = "", finish, usage, weft, calls = 0, chunks = 0;
  for await (const c of await ask(messages, { stream: true, stream_options: { include_usage: true }, ...more })) {
    chunks++;
    assert.equal(c.object, "chat.completion.chunk");
    const [choice] = c.choices;
    text += choice?.delta?.content ?? "";
    calls += choice?.delta?.tool_calls?.length ?? 0;
    finish = choice?.finish_reason ?? finish;
    usage = c.usage ?? usage;
    weft = c.weft ?? weft;
  }
  return { text, finish, usage, weft, calls, chunks };
};
const pieces = await streamed([user("hello")]);
assert.equal(pieces.text, "Hello, world.");
assert.ok(pieces.chunks >= 4, String(pieces.chunks));
assert.equal(pieces.usage.total_tokens, 8);
const tool = await streamed([user("weather")]);
assert.deepEqual([tool.text, tool.calls, tool.finish], ["It is sunny.", 0, "stop"]);
assert.equal((await ask([user("weather")])).choices[0].message.tool_calls, undefined);

// On a thread only new messages are added.
const mine = { thread_id: "a chat of mine" };
await ask([user("hello")], mine);
const second = await ask([user("hello"), { role: "assistant", content: "Hello, world." }, user("weather")], mine);
assert.equal(second.choices[0].message.content, "It is sunny.");
const headers = { "X-Api-Key": "key of ada", "Content-Type": "application/json" };
const threads = await (await fetch(process.argv[2] + "/threads/search", { method: "POST", headers, body: "{}" })).json();
const said = threads.map((t) => t.values.messages.filter((m) => m.type === "human").map((m) => m.content).join());
assert.ok(said.includes("hello,weather"), said.join("; "));

// A question is a text, and the next message of the thread answers it.
const question = await streamed([user("ask")], mine);
assert.equal(question.text, "Send it?");
assert.equal(question.weft.questions[0].schema.type, "boolean");
await refused(ask([user("perhaps")], mine), 422, /question/);
assert.equal((await ask([user("ask"), user("Yes.")], mine)).choices[0].message.content, "Sent.");

// A run without a thread keeps the one that it has when it asks.
const asked = await ask([user("ask")]);
assert.equal(asked.choices[0].message.content, "Send it?");
const answered = await ask([user("false")], { thread_id: asked.weft.thread_id });
assert.equal(answered.choices[0].message.content, "Not sent.");

// What fails is an error, and is not tried again by the client.
await refused(ask([user("fail")]), 500, /the model is down/);
await assert.rejects(streamed([user("fail")]), /the model is down/);
await refused(ask([]), 422, /messages/);
await refused(ask([user("hello")], { n: 2 }), 422, /n must be 1/);
await refused(ask([user("hello")], { model: "double" }), 422, /messages/);
await refused(ask([{ content: "x" }]), 422, /messages\[0\]/);
await refused(new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "wrong" }).models.list(), 401, /credentials/);

// A client that goes cancels its run.
const stop = new AbortController();
const waiting = client.chat.completions.create({ model: "talk", messages: [user("wait")], stream: true, thread_id: "one that waits" }, { signal: stop.signal });
for await (const c of await waiting) {
  if (c.choices[0]?.delta?.content === "Wait") stop.abort();
}
const of = (await (await fetch(process.argv[2] + "/threads/search", { method: "POST", headers, body: "{}" })).json())[0];
for (let status = "running"; status === "running" || status === "pending";) {
  [{ status }] = await (await fetch(`${process.argv[2]}/threads/${of.thread_id}/runs`, { headers })).json();
}
