// What the page needs of a browser, and a person who uses it. The script of the page follows.
import assert from "node:assert/strict";

class Element {
  textContent = "";
  hidden = false;
  children = [];
  listeners = {};
  append(child) { this.children.push(child); }
  addEventListener(kind, listener) { this.listeners[kind] = listener; }
  async send(kind) { await this.listeners[kind]({ preventDefault() {} }); }
}

const elements = {};
globalThis.location = { origin: process.argv[2] };
globalThis.document = {
  getElementById: (id) => (elements[id] ??= new Element()),
  createElement: () => new Element(),
};

setTimeout(async () => {
  const { topic, steps, prompt, question } = {
    topic: document.getElementById("topic"), steps: document.getElementById("steps"),
    prompt: document.getElementById("prompt"), question: document.getElementById("question"),
  };
  topic.value = "tea";
  await elements.new.send("submit");
  assert.equal(prompt.textContent, "All about tea. Publish?");
  assert.equal(question.hidden, false);
  await elements.yes.send("click");
  assert.deepEqual(steps.children.map((line) => line.textContent), [
    'write: {"text":"All about tea."}', 'review: {"published":true}',
  ]);
  assert.equal(question.hidden, true);
  console.log("done");
});
