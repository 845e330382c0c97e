// Uses the chat page PAGE_URL, agent-chat-ui, in a browser. Its server is SUITE_URL, which serves the
// suite hooks. It runs in a folder with the packages, and CHROME is the browser.
import assert from "node:assert/strict";
import test from "node:test";
import { chromium } from "playwright-core";

const wait = 20_000; // until the page shows something
const browser = await chromium.launch({ executablePath: process.env.CHROME, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
test.after(() => browser.close());

// open opens the page for a graph, and sends a message.
async function open(graph) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(wait);
  const failures = [];
  page.on("pageerror", (error) => failures.push(String(error)));
  const query = new URLSearchParams({ apiUrl: process.env.SUITE_URL, assistantId: graph });
  await page.goto(`${process.env.PAGE_URL}/?${query}`);
  await page.waitForLoadState("networkidle");
  await page.fill("textarea", "good morning");
  await page.keyboard.press("Enter");
  return { page, failures };
}

// shows waits until the page has a text.
async function shows(page, text) {
  try {
    await page.waitForFunction((text) => document.body.innerText.includes(text), text);
  } catch {
    assert.fail(`the page never showed ${text}: ${(await page.innerText("body")).slice(0, 500)}`);
  }
}

test("an answer comes, and is there after a reload", async () => {
  const { page, failures } = await open("chat");
  await shows(page, "Hello from Weft.");
  await page.reload();
  await shows(page, "good morning");
  await shows(page, "Hello from Weft.");
  assert.deepEqual(failures, []);
  await page.close();
});

test("a tool is approved", async () => {
  const { page } = await open("inbox");
  await shows(page, "send_email");
  await page.getByRole("button", { name: "Approve" }).first().click();
  await shows(page, '"type":"approve"');
  await page.close();
});

test("a tool is rejected with a reason", async () => {
  const { page } = await open("inbox");
  await shows(page, "send_email");
  const reason = page.getByPlaceholder(/Share feedback/).first();
  // When the page has read the history, it draws the form again, and drops what was typed before.
  for (let i = 0; i < 5 && (await reason.inputValue()) !== "not today"; i++) {
    await reason.fill("");
    await reason.pressSequentially("not today", { delay: 20 });
  }
  await page.getByRole("button", { name: /Submit rejection/ }).first().click();
  await shows(page, "not today");
  await shows(page, '"type":"reject"');
  await page.close();
});
