// A page with one of the hooks for React. The query names the server, the hook, the graph and, to
// go on with one, the thread. Elements have what the hook knows, as JSON.
import React, { useState } from "react";
import { createRoot } from "react-dom/client";
import { useStream as useRuns } from "@langchain/langgraph-sdk/react";
import { useStream as useThread } from "@langchain/react";

const query = new URLSearchParams(location.search);
const apiUrl = query.get("api");
const assistantId = query.get("graph");
const input = assistantId === "chat" ? { messages: [{ type: "human", content: "hi" }] } : {};

function Page({ stream, thread, question, send, answer }) {
  const shown = {
    values: stream.values,
    loading: stream.isLoading,
    question: question ?? null,
    messages: (stream.messages ?? []).map((m) => m.content),
    thread,
    error: String(stream.error ?? ""),
  };
  return (
    <div>
      <pre id="shown">{JSON.stringify(shown)}</pre>
      <button id="send" onClick={() => void send()}>send</button>
      <button id="answer" onClick={() => void answer({ approve: true })}>answer</button>
      <button id="stop" onClick={() => void stream.stop()}>stop</button>
    </div>
  );
}

// The hook of the SDK, over the classic streams.
function Runs() {
  const [threadId, setThreadId] = useState(query.get("thread"));
  const stream = useRuns({
    apiUrl, assistantId, apiKey: null, threadId, onThreadId: setThreadId, fetchStateHistory: true, reconnectOnMount: true,
  });
  return (
    <Page
      stream={stream}
      thread={threadId}
      question={stream.interrupt}
      send={() => stream.submit(input, { streamMode: ["updates"], streamSubgraphs: true, streamResumable: true })}
      answer={(value) => stream.submit(undefined, { command: { resume: value } })}
    />
  );
}

// The hook of the protocol of threads.
function Thread() {
  const stream = useThread({ apiUrl, assistantId, apiKey: null });
  return (
    <Page
      stream={stream}
      thread={stream.threadId}
      question={(stream.interrupts ?? [])[0]}
      send={() => stream.submit(input)}
      answer={(value) => stream.respond(value)}
    />
  );
}

createRoot(document.getElementById("root")).render(query.get("hook") === "thread" ? <Thread /> : <Runs />);
