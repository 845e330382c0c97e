// The workloads of Weft's benchmark on LangGraph.js. One request a line comes in, one reply a line goes out:
//
//   {"work": "chain", "n": 100, "saver": "none", "durability": "sync", "times": 3}
//   {"nanos": 123456, "rss": 1234}          the time of all runs together
//   {"error": "got 1, want 2", "wrong": true}
//
// A graph is compiled once for each kind of request; its first request warms it up. Every run checks its result.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { Annotation, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";

class Wrong extends Error {}

const is = (got, want) => {
  if (got !== want) throw new Wrong(`got ${String(got).slice(0, 100)}, want ${String(want).slice(0, 100)}`);
};
const sum = () => Annotation({ reducer: (a, b) => a + b, default: () => 0 });
const list = () => Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });
const nodeName = (i) => "n" + String(i).padStart(4, "0");

// Each work compiles with a saver and returns a function that runs once, with the configuration of the run.
const works = { chain, loop, fanout, steps, sequential, fanout_to_subgraph, react_agent, wide_state, wide_dict };

const Count = Annotation.Root({ n: sum() });

function chain(n, saver) {
  const g = new StateGraph(Count);
  let from = START;
  for (let i = 0; i < n; i++) {
    g.addNode(nodeName(i), () => ({ n: 1 })).addEdge(from, nodeName(i));
    from = nodeName(i);
  }
  const run = g.addEdge(from, END).compile({ checkpointer: saver });
  return async (config) => is((await run.invoke({ n: 0 }, config)).n, n);
}

function loop(turns, saver) {
  const run = new StateGraph(Count)
    .addNode("ping", () => ({ n: 1 }))
    .addNode("pong", () => ({}))
    .addEdge(START, "ping")
    .addEdge("ping", "pong")
    .addConditionalEdges("pong", (s) => (s.n >= turns ? END : "ping"), ["ping", END])
    .compile({ checkpointer: saver });
  return async (config) => is((await run.invoke({ n: 0 }, config)).n, turns);
}

function fanout(n, saver) {
  const ordered = (all) => {
    is(all.length, n);
    all.forEach((name, i) => is(name, nodeName(i)));
    return n;
  };
  const g = new StateGraph(Annotation.Root({ all: list(), n: Annotation() }));
  g.addNode("last", (s) => ({ n: ordered(s.all) }));
  for (let i = 0; i < n; i++) g.addNode(nodeName(i), () => ({ all: [nodeName(i)] })).addEdge(START, nodeName(i));
  g.addEdge(Array.from({ length: n }, (_, i) => nodeName(i)), "last").addEdge("last", END);
  const run = g.compile({ checkpointer: saver });
  return async (config) => is((await run.invoke({ all: [] }, config)).n, n);
}

// steps adds n texts of 1 KiB, each different, to a log.
function steps(n, saver) {
  const text = (i) => String(i).padStart(1024, "x");
  const run = new StateGraph(Annotation.Root({ log: list() }))
    .addNode("add", (s) => ({ log: [text(s.log.length)] }))
    .addEdge(START, "add")
    .addConditionalEdges("add", (s) => (s.log.length >= n ? END : "add"), ["add", END])
    .compile({ checkpointer: saver });
  return async (config) => {
    const { log } = await run.invoke({ log: [] }, config);
    is(log.length, n);
    log.forEach((t, i) => is(t, text(i)));
  };
}

// What follows does the work of LangGraph's own suite (libs/langgraph/bench of its repository).

function sequential(n, saver) {
  const g = new StateGraph(MessagesAnnotation);
  let from = START;
  for (let i = 0; i < n; i++) {
    g.addNode(nodeName(i), () => ({})).addEdge(from, nodeName(i));
    from = nodeName(i);
  }
  const run = g.addEdge(from, END).compile({ checkpointer: saver });
  return async (config) => is((await run.invoke({ messages: [] }, config)).messages.length, 0);
}

function fanout_to_subgraph(n, saver) {
  const child = new StateGraph(Annotation.Root({ subject: Annotation(), jokes: Annotation() }))
    .addNode("edit", (s) => ({ subject: `${s.subject} - hohoho` }))
    .addNode("generate", (s) => ({ jokes: [`Joke about ${s.subject}`] }))
    .addNode("bump", (s) => ({ jokes: [s.jokes[0] + " a"] }))
    .addEdge(START, "edit")
    .addEdge("edit", "generate")
    .addEdge("generate", "bump")
    .addConditionalEdges("bump", (s) => (s.jokes[0].endsWith(" a".repeat(10)) ? END : "bump"), ["bump", END])
    .compile();
  const run = new StateGraph(Annotation.Root({ subjects: Annotation(), jokes: list() }))
    .addNode("generate_joke", child)
    .addConditionalEdges(START, (s) => s.subjects.map((subject) => new Send("generate_joke", { subject })), ["generate_joke"])
    .addEdge("generate_joke", END)
    .compile({ checkpointer: saver });
  const subjects = Array.from({ length: n }, (_, i) => String(i).padStart(1000, "s"));
  return async (config) => {
    const { jokes } = await run.invoke({ subjects }, config);
    is(jokes.length, n);
    jokes.forEach((joke, i) => is(joke, `Joke about ${subjects[i]} - hohoho` + " a".repeat(10)));
  };
}

// Canned is a model that says what it was given, by how often it has spoken in the conversation.
class Canned extends BaseChatModel {
  constructor(replies) {
    super({});
    this.replies = replies;
  }
  _llmType() {
    return "canned";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const said = messages.filter((m) => m.getType() === "ai").length;
    const { content, tool_calls, id } = this.replies[said];
    const message = new AIMessage({ content, tool_calls, id });
    return { generations: [{ text: content, message }] };
  }
}

function react_agent(n, saver) {
  const schema = { type: "object", properties: { query: { type: "string" } }, required: ["query"] };
  const ask = tool(({ query }) => `result for query: ${query}`.repeat(10), { name: "ask", description: "answers", schema });
  const replies = Array.from({ length: n }, () => ({
    content: "", id: randomUUID(), tool_calls: [{ id: randomUUID(), name: "ask", args: { query: randomUUID().repeat(100) } }],
  }));
  replies.push({ content: "answer".repeat(100), id: randomUUID(), tool_calls: [] });
  const run = createReactAgent({ llm: new Canned(replies), tools: [ask], checkpointer: saver });
  return async (config) => {
    const { messages } = await run.invoke({ messages: [new HumanMessage("hi?")] }, config);
    is(messages.length, 2 * n + 2);
    is(messages[2 * n + 1].content, "answer".repeat(100));
    if (n > 0) is(messages[2].content, `result for query: ${replies[0].tool_calls[0].args.query}`.repeat(10));
  };
}

const lists = ["messages", "trigger_events", "categorizations", "responses", "memory_docs", "relevant_rules"];
const dicts = ["user_info", "crm_info", "slack_participants", "notified_assignees", "autoresponse", "issue"];

function wide_state(n, saver) {
  const reduced = (reducer, init) => Annotation({ reducer, default: () => init });
  const kept = () => reduced((x, y) => y ?? x, null);
  return wide(n, saver, Annotation.Root({
    messages: list(), trigger_events: list(), categorizations: list(), responses: list(),
    primary_issue_medium: reduced((x, y) => y || x, "email"),
    autoresponse: reduced((_, y) => y, null), issue: reduced((x, y) => y || x, null),
    relevant_rules: Annotation(), memory_docs: Annotation(), bot_id: Annotation(),
    user_info: kept(), crm_info: kept(), email_thread_id: kept(),
    slack_participants: reduced((a, b) => ({ ...a, ...b }), {}), notified_assignees: reduced((a, b) => ({ ...a, ...b }), {}),
  }));
}

// wide_dict has no defaults: a field is there once it was written.
function wide_dict(n, saver) {
  const reduced = (reducer) => Annotation({ reducer });
  const add = () => reduced((a, b) => (a ?? []).concat(b));
  const kept = () => reduced((x, y) => y ?? x);
  return wide(n, saver, Annotation.Root({
    messages: add(), trigger_events: add(), categorizations: add(), responses: add(),
    primary_issue_medium: reduced((x, y) => y || x),
    autoresponse: reduced((_, y) => y), issue: reduced((x, y) => y || x),
    relevant_rules: Annotation(), memory_docs: Annotation(), bot_id: Annotation(),
    user_info: kept(), crm_info: kept(), email_thread_id: kept(),
    slack_participants: reduced((a, b) => ({ ...a, ...b })), notified_assignees: reduced((a, b) => ({ ...a, ...b })),
  }));
}

function wide(n, saver, State) {
  const text = "q".repeat(n);
  const node = (read, ...write) => (s) => {
    const all = Array.isArray(s[read]) ? s[read] : [s[read]];
    const last = all[all.length - 1];
    return Object.fromEntries(write.map((k) => [k, lists.includes(k) ? all : dicts.includes(k) ? last : text]));
  };
  const run = new StateGraph(State)
    .addNode("one", node("messages", "trigger_events", "primary_issue_medium"))
    .addNode("two", node("trigger_events", "autoresponse", "issue"))
    .addNode("three", node("autoresponse", "relevant_rules"))
    .addNode("four", node("trigger_events", "categorizations", "responses", "memory_docs"))
    .addNode("five", node("categorizations", "user_info", "crm_info", "email_thread_id", "slack_participants", "bot_id", "notified_assignees"))
    .addNode("six", node("responses", "messages"))
    .addEdge(START, "one").addEdge("one", "two").addEdge("two", "three").addEdge("two", "four")
    .addEdge(["three", "four"], "five").addEdge("five", "six")
    .addConditionalEdges("six", (s) => (s.messages.length > n ? END : "one"), ["one", END])
    .compile({ checkpointer: saver });
  const [outer, inner] = { 300: [5, 5], 600: [3, 5], 1200: [3, 3] }[n] ?? [2, 2];
  const event = {};
  for (let i = 0; i < outer; i++) {
    event[String(i).repeat(10)] = {};
    for (let j = 0; j < inner; j++) {
      event[String(i).repeat(10)][String(j).repeat(10)] = Array(5).fill(["hi?".repeat(10), true, 1, 6327816386138, null]).flat();
    }
  }
  let [m, t, r] = [1, 0, 0];
  while (m <= n) [t, r, m] = [t + m, r + t + m, m + r + t + m];
  const want = JSON.stringify(event);
  return async (config) => {
    const end = await run.invoke({ messages: [event] }, config);
    is(end.messages.length, m);
    is(end.responses.length, r);
    is(end.bot_id, text);
    is(JSON.stringify(end.messages[m - 1]), want);
    is(JSON.stringify(end.user_info), want);
  };
}

// saverOf returns a saver of its own for each kind of request. There is none for Redis: that of
// @langchain/langgraph-checkpoint-redis needs the modules RedisJSON and RediSearch, which a plain server does not have.
async function saverOf({ saver, address }) {
  switch (saver) {
    case "none":
      return { saver: undefined };
    case "memory":
      return { saver: new MemorySaver() };
    case "sqlite": {
      const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
      return { saver: SqliteSaver.fromConnString(address) };
    }
    case "postgres": {
      const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
      const s = PostgresSaver.fromConnString(address);
      await s.setup();
      return { saver: s };
    }
  }
  throw new Error(`no saver ${saver}`);
}

const jobs = new Map();

async function jobOf(q) {
  const key = JSON.stringify([q.work, q.n, q.saver, q.address]);
  if (!jobs.has(key)) {
    const { saver } = await saverOf(q);
    jobs.set(key, { run: works[q.work](q.n, saver), saver });
  }
  return jobs.get(key);
}

async function answer(q) {
  if (q.version) return version();
  const { run, saver } = await jobOf(q);
  globalThis.gc?.();
  const began = process.hrtime.bigint();
  for (let i = 0; i < q.times; i++) {
    const thread = randomUUID();
    await run({ configurable: { thread_id: thread }, recursionLimit: 1 << 30, durability: q.durability || undefined });
    if (q.saver === "memory") await saver.deleteThread(thread); // lest one run pays for the memory of all others
  }
  return { nanos: Number(process.hrtime.bigint() - began) };
}

function version() {
  const of = (name) => JSON.parse(readFileSync(new URL(`node_modules/@langchain/${name}/package.json`, import.meta.url))).version;
  return { version: `LangGraph.js ${of("langgraph")} (@langchain/core ${of("core")}), Node.js ${process.versions.node}` };
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await answer(JSON.parse(line));
  } catch (e) {
    reply = { error: String(e?.message ?? e).split("\n")[0], wrong: e instanceof Wrong };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
process.exit(0);
