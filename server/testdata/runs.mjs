// Drives runs and states with the JavaScript SDK.
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: process.argv[2] });
const all = ["plan", "write", "publish"];

const { thread_id } = await client.threads.create();
const end = await client.runs.wait(thread_id, "steps", { input: { topic: "tea" } });
assert.deepEqual(end.log, all);
const state = await client.threads.getState(thread_id);
assert.deepEqual(state.values.log, all);
assert.deepEqual(state.next, []);
const history = await client.threads.getHistory(thread_id);
assert.deepEqual(history.map((s) => s.metadata.step), [3, 2, 1, 0, -1]);
const at = await client.threads.getState(thread_id, history[2].checkpoint);
assert.deepEqual(at.values.log, ["plan"]);
const older = await client.threads.getHistory(thread_id, { before: { configurable: { checkpoint_id: history[1].checkpoint.checkpoint_id } }, limit: 1 });
assert.equal(older[0].checkpoint.checkpoint_id, history[2].checkpoint.checkpoint_id);

let created;
const events = [];
const other = await client.threads.create();
for await (const e of client.runs.stream(other.thread_id, "steps", {
  input: { topic: "tea" }, streamMode: ["values", "updates"], onRunCreated: (run) => { created = run; },
})) events.push(e);
assert.deepEqual(events.map((e) => e.event), ["metadata", "values", "updates", "values", "updates", "values", "updates", "values"]);
assert.equal(events[0].data.run_id, created.run_id);
assert.equal(created.thread_id, other.thread_id);
assert.deepEqual(events[2].data, { plan: { log: ["plan"] } });
assert.deepEqual(events.at(-1).data.log, all);
const run = await client.runs.get(other.thread_id, created.run_id);
assert.equal(run.status, "success");
const joined = [];
for await (const e of client.runs.joinStream(other.thread_id, created.run_id, { lastEventId: "-1", streamMode: ["values", "updates"] })) joined.push(e);
assert.deepEqual(joined.map((e) => e.data), events.map((e) => e.data));

const asking = await client.threads.create();
const paused = await client.runs.wait(asking.thread_id, "asks", { input: { topic: "tea" } });
assert.equal(paused.__interrupt__[0].value, "Which end?");
assert.equal((await client.threads.get(asking.thread_id)).status, "interrupted");
assert.deepEqual((await client.threads.getState(asking.thread_id)).next, ["ask"]);
const resumed = await client.runs.wait(asking.thread_id, "asks", { command: { resume: "happy" } });
assert.deepEqual(resumed.log, ["plan", "ask happy", "publish"]);

await client.threads.updateState(asking.thread_id, { values: { topic: "milk" } });
assert.equal((await client.threads.getState(asking.thread_id)).values.topic, "milk");

await assert.rejects(client.runs.wait(asking.thread_id, "fails", { input: { topic: "x" } }), /the chain has no end/);

const waiting = await client.threads.create();
const slow = await client.runs.create(waiting.thread_id, "waits", { input: { topic: "x" } });
await client.runs.cancel(waiting.thread_id, slow.run_id, true);
assert.equal((await client.runs.get(waiting.thread_id, slow.run_id)).status, "interrupted");
assert.equal((await client.runs.list(waiting.thread_id)).length, 1);
await client.runs.delete(waiting.thread_id, slow.run_id);

const stateless = await client.runs.wait(null, "steps", { input: { topic: "tea" } });
assert.deepEqual(stateless.log, all);
