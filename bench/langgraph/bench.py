"""The workloads of Weft's benchmark on LangGraph in Python: the protocol of bench.mjs, for the works below."""

import json
import operator
import sys
import time
from importlib.metadata import version
from typing import Annotated
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict


class Wrong(Exception):
    pass


def same(got, want):
    if got != want:
        raise Wrong(f"got {str(got)[:100]}, want {str(want)[:100]}")


def node_name(i):
    return f"n{i:04d}"


class Count(TypedDict):
    n: Annotated[int, operator.add]


class Names(TypedDict):
    all: Annotated[list, operator.add]
    n: int


class Log(TypedDict):
    log: Annotated[list, operator.add]


def chain(n, saver):
    g = StateGraph(Count)
    before = START
    for i in range(n):
        g.add_node(node_name(i), lambda s: {"n": 1})
        g.add_edge(before, node_name(i))
        before = node_name(i)
    g.add_edge(before, END)
    run = g.compile(checkpointer=saver)
    return lambda **o: same(run.invoke({"n": 0}, **o)["n"], n)


def loop(turns, saver):
    g = StateGraph(Count)
    g.add_node("ping", lambda s: {"n": 1})
    g.add_node("pong", lambda s: {})
    g.add_edge(START, "ping")
    g.add_edge("ping", "pong")
    g.add_conditional_edges("pong", lambda s: END if s["n"] >= turns else "ping", ["ping", END])
    run = g.compile(checkpointer=saver)
    return lambda **o: same(run.invoke({"n": 0}, **o)["n"], turns)


def fanout(n, saver):
    names = [node_name(i) for i in range(n)]

    def last(s):
        same(s["all"], names)
        return {"n": len(s["all"])}

    g = StateGraph(Names)
    g.add_node("last", last)
    for name in names:
        g.add_node(name, lambda s, name=name: {"all": [name]})
        g.add_edge(START, name)
    g.add_edge(names, "last")
    g.add_edge("last", END)
    run = g.compile(checkpointer=saver)
    return lambda **o: same(run.invoke({"all": []}, **o)["n"], n)


def steps(n, saver):
    g = StateGraph(Log)
    g.add_node("add", lambda s: {"log": [str(len(s["log"])).rjust(1024, "x")]})
    g.add_edge(START, "add")
    g.add_conditional_edges("add", lambda s: END if len(s["log"]) >= n else "add", ["add", END])
    run = g.compile(checkpointer=saver)
    want = [str(i).rjust(1024, "x") for i in range(n)]
    return lambda **o: same(run.invoke({"log": []}, **o)["log"], want)


def sequential(n, saver):
    g = StateGraph(MessagesState)
    before = START
    for i in range(n):
        g.add_node(node_name(i), lambda s: {})
        g.add_edge(before, node_name(i))
        before = node_name(i)
    g.add_edge(before, END)
    run = g.compile(checkpointer=saver)
    return lambda **o: same(run.invoke({"messages": []}, **o)["messages"], [])


class Joke(TypedDict):
    subject: str
    jokes: list


class Jokes(TypedDict):
    subjects: list
    jokes: Annotated[list, operator.add]


class Told(TypedDict):
    jokes: list


def fanout_to_subgraph(n, saver):
    c = StateGraph(Joke, output_schema=Told)
    c.add_node("edit", lambda s: {"subject": s["subject"] + " - hohoho"})
    c.add_node("generate", lambda s: {"jokes": ["Joke about " + s["subject"]]})
    c.add_node("bump", lambda s: {"jokes": [s["jokes"][0] + " a"]})
    c.add_edge(START, "edit")
    c.add_edge("edit", "generate")
    c.add_edge("generate", "bump")
    c.add_conditional_edges("bump", lambda s: END if s["jokes"][0].endswith(" a" * 10) else "bump", ["bump", END])
    g = StateGraph(Jokes)
    g.add_node("generate_joke", c.compile())
    g.add_conditional_edges(START, lambda s: [Send("generate_joke", {"subject": x}) for x in s["subjects"]], ["generate_joke"])
    g.add_edge("generate_joke", END)
    run = g.compile(checkpointer=saver)
    subjects = [str(i).rjust(1000, "s") for i in range(n)]
    want = [f"Joke about {s} - hohoho" + " a" * 10 for s in subjects]
    return lambda **o: same(run.invoke({"subjects": subjects}, **o)["jokes"], want)


works = {f.__name__: f for f in (chain, loop, fanout, steps, sequential, fanout_to_subgraph)}
jobs = {}


def saver_of(q):
    match q["saver"]:
        case "none":
            return None
        case "memory":
            return InMemorySaver()
        case "sqlite":
            import sqlite3

            from langgraph.checkpoint.sqlite import SqliteSaver

            return SqliteSaver(sqlite3.connect(q["address"], check_same_thread=False))
    raise KeyError("no saver " + q["saver"])


def answer(q):
    if q.get("version"):
        return {"version": f"LangGraph {version('langgraph')}, Python {sys.version.split()[0]}"}
    key = (q["work"], q["n"], q["saver"], q.get("address"))
    if key not in jobs:
        saver = saver_of(q)
        jobs[key] = works[q["work"]](q["n"], saver), saver
    run, saver = jobs[key]
    began = time.perf_counter_ns()
    for _ in range(q["times"]):
        thread = str(uuid4())
        options = {"config": {"configurable": {"thread_id": thread}, "recursion_limit": 1 << 30}}
        if saver is not None:
            options["durability"] = q.get("durability") or "sync"
        run(**options)
        if q["saver"] == "memory":
            saver.delete_thread(thread)
    return {"nanos": time.perf_counter_ns() - began}


def main():
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as e:
            reply = {"error": str(e).split("\n")[0] or type(e).__name__, "wrong": isinstance(e, Wrong)}
        print(json.dumps(reply), flush=True)


main()
