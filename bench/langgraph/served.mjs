// The graphs that serve.mjs serves: those of ../servechild.go.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ n: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });

// steps has five nodes in a row.
export const steps = chain(5);

// tokens emits its number and the time in nanoseconds every 20 ms, 100 times.
export const tokens = new StateGraph(State)
  .addNode("emit", async (_, config) => {
    for (let i = 0; i < 100; i++) {
      await new Promise((done) => setTimeout(done, 20));
      config.writer({ n: i, at: Date.now() * 1e6 });
    }
    return { n: 1 };
  })
  .addEdge(START, "emit")
  .addEdge("emit", END)
  .compile();

function chain(n) {
  const graph = new StateGraph(State);
  let last = START;
  for (let i = 0; i < n; i++) {
    graph.addNode(`step${i}`, () => ({ n: 1 })).addEdge(last, `step${i}`);
    last = `step${i}`;
  }
  return graph.addEdge(last, END).compile();
}
