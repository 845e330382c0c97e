// Drives assistants, threads and the store with the JavaScript SDK.
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: process.argv[2] });

const [system] = await client.assistants.search({ graphId: "agent" });
assert.equal(system.assistant_id, "fe096781-5601-53d2-b2f6-0d3403f7e9ca");
assert.deepEqual(system.config, { configurable: { model_name: "openai" } });

const made = await client.assistants.create({ graphId: "agent", name: "Mine", metadata: { n: 1 } });
assert.equal(made.version, 1);
const again = client.assistants.create({ graphId: "agent", assistantId: made.assistant_id });
await assert.rejects(again, { message: `HTTP 409: Assistant ${made.assistant_id} already exists` });
const same = await client.assistants.create({ graphId: "agent", assistantId: made.assistant_id, ifExists: "do_nothing" });
assert.equal(same.name, "Mine");
const patched = await client.assistants.update(made.assistant_id, { name: "Yours", metadata: { m: 2 } });
assert.equal(patched.version, 2);
assert.deepEqual(patched.metadata, { n: 1, m: 2 });
const versions = await client.assistants.getVersions(made.assistant_id);
assert.deepEqual(versions.map((v) => v.version), [2, 1]);
assert.equal((await client.assistants.setLatest(made.assistant_id, 1)).name, "Mine");
assert.equal((await client.assistants.get(made.assistant_id)).version, 1);
assert.equal(await client.assistants.count({ graphId: "agent" }), 2);
await client.assistants.delete(made.assistant_id);
await assert.rejects(client.assistants.get(made.assistant_id), { message: "HTTP 404: Assistant not found" });

const thread = await client.threads.create({ metadata: { user: { name: "ada" } } });
assert.equal(thread.status, "idle");
assert.deepEqual(await client.threads.get(thread.thread_id), thread);
await client.threads.update(thread.thread_id, { metadata: { n: 1 } });
const found = await client.threads.search({ metadata: { user: { name: "ada" }, n: 1 } });
assert.deepEqual(found.map((t) => t.thread_id), [thread.thread_id]);
const copy = await client.threads.copy(thread.thread_id);
assert.notEqual(copy.thread_id, thread.thread_id);
assert.equal(await client.threads.count({ metadata: { n: 1 } }), 2);
await client.threads.delete(thread.thread_id);
await assert.rejects(client.threads.get(thread.thread_id), { message: `HTTP 404: Thread with ID ${thread.thread_id} not found` });

await client.store.putItem(["users", "ada"], "tea", { kind: "green" });
assert.deepEqual((await client.store.getItem(["users", "ada"], "tea")).value, { kind: "green" });
assert.equal(await client.store.getItem(["users", "ada"], "none"), null);
const { items } = await client.store.searchItems(["users"], { filter: { kind: "green" } });
assert.equal(items.length, 1);
const { namespaces } = await client.store.listNamespaces({ prefix: ["users"] });
assert.deepEqual(namespaces, [["users", "ada"]]);
await client.store.deleteItem(["users", "ada"], "tea");
