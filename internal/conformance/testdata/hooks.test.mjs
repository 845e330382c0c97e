// Drives both hooks for React in a browser against the server SUITE_URL, which serves the suite
// hooks. It runs in a folder with the packages; app.jsx is beside it, and CHROME is the browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import test from "node:test";
import esbuild from "esbuild";
import { chromium } from "playwright-core";

const api = process.env.SUITE_URL;
const wait = 15_000; // until a page shows something

const built = await esbuild.build({
  stdin: { contents: fs.readFileSync(new URL("app.jsx", import.meta.url), "utf8"), resolveDir: process.cwd(), loader: "jsx" },
  bundle: true, write: false, format: "iife", target: "es2022", jsx: "automatic", platform: "browser", logLevel: "error",
  define: { "process.env.NODE_ENV": '"production"' }, external: ["node:async_hooks", "async_hooks"],
});
const server = http.createServer((request, response) => {
  const script = request.url.startsWith("/app.js");
  response.setHeader("content-type", script ? "text/javascript" : "text/html");
  response.end(script ? built.outputFiles[0].text : '<!doctype html><div id="root"></div><script src="/app.js"></script>');
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath: process.env.CHROME, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
test.after(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

// open opens a page with a hook.
async function open(hook, graph, thread) {
  const page = await browser.newPage();
  page.setDefaultTimeout(wait);
  const failures = [];
  page.on("pageerror", (error) => failures.push(String(error)));
  const query = new URLSearchParams({ api, hook, graph, ...(thread ? { thread } : {}) });
  await page.goto(`http://127.0.0.1:${server.address().port}/?${query}`);
  await page.waitForSelector("#send");
  return { page, failures };
}

// until waits until the page shows what is wanted, and returns what it shows.
async function until(page, what, wanted) {
  let shown;
  for (const end = Date.now() + wait; Date.now() < end; await page.waitForTimeout(50)) {
    shown = JSON.parse(await page.textContent("#shown"));
    if (wanted(shown)) return shown;
  }
  assert.fail(`the page never showed ${what}: ${JSON.stringify(shown)}`);
}

for (const hook of ["runs", "thread"]) {
  test(`${hook}: a message comes in tokens`, async () => {
    const { page, failures } = await open(hook, "chat");
    await page.click("#send");
    // The content is a text, or blocks.
    const shown = await until(page, "the answer", (s) => !s.loading && JSON.stringify(s.messages).includes("Hello from Weft."));
    assert.equal(shown.messages.length, 2);
    assert.equal(shown.error, "");
    if (hook === "runs") {
      const again = await open(hook, "chat", shown.thread);
      await until(again.page, "the messages after a reload", (s) => s.messages.length === 2);
      await again.page.close();
    }
    assert.deepEqual(failures, []);
    await page.close();
  });

  test(`${hook}: a question is answered`, async () => {
    const { page } = await open(hook, "hitl");
    await page.click("#send");
    await until(page, "the question", (s) => !s.loading && JSON.stringify(s.question).includes("approve?"));
    await page.click("#answer");
    const shown = await until(page, "the end", (s) => s.question === null && (s.values.log ?? []).includes("finish"));
    assert.deepEqual(shown.values.decision, { approve: true });
    await page.close();
  });

  test(`${hook}: a failure is shown`, async () => {
    const { page } = await open(hook, "boom");
    await page.click("#send");
    await until(page, "the failure", (s) => s.error.includes("exploded"));
    await page.close();
  });

  test(`${hook}: a run is stopped`, async () => {
    const { page } = await open(hook, "slow");
    await page.click("#send");
    await until(page, "the run", (s) => s.loading);
    await page.waitForTimeout(1500);
    await page.click("#stop");
    await until(page, "the end", (s) => !s.loading);
    await page.close();
  });
}
