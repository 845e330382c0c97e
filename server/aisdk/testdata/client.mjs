// Chats with an assistant as useChat does.
import assert from "node:assert/strict";
import { DefaultChatTransport, readUIMessageStream } from "ai";

const api = process.argv[2] + "/ai-sdk/talk";
const transport = new DefaultChatTransport({ api, headers: { "X-Api-Key": "key of ada" } });
const messages = [];
const chatId = "chat-of-mine";

async function send(body, { trigger = "submit-message", abortSignal } = {}) {
  const stream = await transport.sendMessages({ chatId, messages, trigger, abortSignal, body });
  let last;
  const errors = [];
  for await (const message of readUIMessageStream({ stream, onError: (e) => errors.push(e) })) last = message;
  if (last) messages.push(last);
  return { ...last, errors, text: last?.parts.filter((p) => p.type === "text").map((p) => p.text).join("|") };
}
const say = (text, options) => {
  messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  return send({}, options);
};

const hello = await say("hello");
assert.equal(hello.text, "Hello, world.");
assert.equal(hello.parts.find((p) => p.type === "reasoning").text, "Hm.");
assert.equal(hello.parts.find((p) => p.type === "data-note").data.text, "thinking");

const tool = await say("weather");
const called = tool.parts.find((p) => p.type === "dynamic-tool");
assert.deepEqual([called.toolName, called.state, called.input, called.output], ["weather", "output-available", { city: "Rome" }, "sunny"]);
assert.equal(tool.text, "It is sunny.");

messages.pop();
const again = await send({}, { trigger: "regenerate-message" });
assert.equal(again.text, "It is sunny.");

const asks = await say("ask");
const question = asks.parts.find((p) => p.type === "data-question");
assert.equal(question.data.prompt, "Send it?");
const sent = await send({ resume: { [question.data.question_id]: true } });
assert.equal(sent.text, "Sent.");

const failed = await say("fail");
assert.match(String(failed.errors[0]), /the model is down/);
messages.pop(); // the model does not see that again

assert.equal(await transport.reconnectToStream({ chatId }), null);

const threads = await (await fetch(process.argv[2] + "/threads/search", {
  method: "POST", headers: { "X-Api-Key": "key of ada", "Content-Type": "application/json" }, body: "{}",
})).json();
const all = threads[0].values.messages.map((m) => m.content || m.type);
assert.deepEqual(all, ["hello", "Hello, world.", "weather", "ai", "sunny", "It is sunny.", "ask", "Sent.", "fail"]);

const abort = new AbortController();
messages.length = 0;
messages.push({ id: "u-wait", role: "user", parts: [{ type: "text", text: "wait" }] });
const waiting = await transport.sendMessages({ chatId: "another", messages, trigger: "submit-message", abortSignal: abort.signal });
const reader = waiting.getReader();
for (;;) {
  const { value } = await reader.read();
  if (value.type === "text-delta") break;
}
const joined = await transport.reconnectToStream({ chatId: "another" });
const types = [];
for await (const chunk of joined) {
  types.push(chunk.type);
  if (chunk.type === "text-delta") abort.abort(); // stops the run
}
assert.equal(types[0], "start");
assert.equal(types.at(-1), "abort");
