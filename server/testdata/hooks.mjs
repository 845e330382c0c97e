// Drives the React hooks of both public packages: tokens, a question and its answer, a failure.
import assert from "node:assert/strict";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("", { url: "http://localhost/" });
Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: false });
globalThis.navigator ??= window.navigator; // newer runtimes have one
const { createElement, useEffect, useState } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useStream: useLegacy } = await import("@langchain/langgraph-sdk/react");
const { useStream } = await import("@langchain/react");

const apiUrl = process.argv[2];
const assistantId = "talk";
const patience = 30_000;

// mount renders a component that uses a hook, and returns what the hook returns now. The effects of
// the hook have run.
async function mount(hook) {
  let now, changed = () => {};
  const root = createRoot(document.createElement("div"));
  await new Promise((mounted) => root.render(createElement(() => {
    now = hook();
    queueMicrotask(() => changed());
    useEffect(mounted, []);
    return null;
  })));
  const until = (what, test) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${what}: ${JSON.stringify(now?.values)}`)), patience);
    changed = () => {
      if (!now || !test(now)) return;
      clearTimeout(timer);
      changed = () => {};
      resolve(now);
    };
    changed();
  });
  return { until, stream: () => now, unmount: () => root.unmount() };
}

const texts = (s) => (s.messages ?? []).map((m) => m.text ?? m.content);
const human = (content) => ({ messages: [{ type: "human", content }] });

async function converse(name, hook, answer, asked) {
  // The hook of an older client takes the next end that it sees for that of its run, and it sees an
  // end twice: the run whose end counts is the first of its thread.
  const failing = await mount(hook);
  void failing.stream().submit(human("fail"));
  const failed = await failing.until(`${name} failure`, (s) => s.error);
  assert.match(String(failed.error), /the model is down/);
  failing.unmount();

  const page = await mount(hook);
  void page.stream().submit(human("hello"));
  await page.until(`${name} tokens`, (s) => texts(s).includes("Hello, world."));
  await page.until(`${name} end`, (s) => !s.isLoading && s.values?.mood === "good");
  void page.stream().submit(human("ask"));
  await page.until(`${name} question`, (s) => asked(s) !== undefined && !s.isLoading);
  void answer(page.stream());
  await page.until(`${name} answer`, (s) => texts(s).at(-1) === "Sent." && !s.isLoading);
  page.unmount();
}

await converse("langgraph-sdk", () => {
  const [threadId, onThreadId] = useState(null);
  return useLegacy({ apiUrl, assistantId, apiKey: null, threadId, onThreadId, onError: () => {} });
}, (s) => s.submit(undefined, { command: { resume: true } }), (s) => s.interrupt);
await converse("react", () => useStream({ apiUrl, assistantId, apiKey: null }),
  (s) => s.respond(true), (s) => s.interrupts?.[0]);
process.exit(0);
