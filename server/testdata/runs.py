"""Drives runs and states with the Python SDK."""

import sys

from langgraph_sdk import get_sync_client

client = get_sync_client(url=sys.argv[1])
ALL = ["plan", "write", "publish"]

thread = client.threads.create()["thread_id"]
end = client.runs.wait(thread, "steps", input={"topic": "tea"})
assert end["log"] == ALL, end
state = client.threads.get_state(thread)
assert state["values"]["log"] == ALL and state["next"] == [], state
history = client.threads.get_history(thread)
assert [s["metadata"]["step"] for s in history] == [3, 2, 1, 0, -1], history
at = client.threads.get_state(thread, checkpoint=history[2]["checkpoint"])
assert at["values"]["log"] == ["plan"], at
[older] = client.threads.get_history(thread, before=history[1]["checkpoint"], limit=1)
assert older["checkpoint"] == history[2]["checkpoint"], older

created = []
other = client.threads.create()["thread_id"]
events = list(
    client.runs.stream(
        other, "steps", input={"topic": "tea"}, stream_mode=["values", "updates"], on_run_created=created.append
    )
)
assert [e.event for e in events] == ["metadata"] + ["values", "updates"] * 3 + ["values"], events
assert events[2].data == {"plan": {"log": ["plan"]}}, events
assert events[-1].data["log"] == ALL, events
run = client.runs.get(other, created[0]["run_id"])
assert run["status"] == "success" and run["run_id"] == events[0].data["run_id"], run
joined = list(client.runs.join_stream(other, run["run_id"], stream_mode=["values", "updates"], last_event_id="-1"))
assert [e.data for e in joined] == [e.data for e in events], joined

asking = client.threads.create()["thread_id"]
paused = client.runs.wait(asking, "asks", input={"topic": "tea"})
assert paused["__interrupt__"][0]["value"] == "Which end?", paused
assert client.threads.get(asking)["status"] == "interrupted"
resumed = client.runs.wait(asking, "asks", command={"resume": "happy"})
assert resumed["log"] == ["plan", "ask happy", "publish"], resumed

client.threads.update_state(asking, {"topic": "milk"})
assert client.threads.get_state(asking)["values"]["topic"] == "milk"

try:
    client.runs.wait(asking, "fails", input={"topic": "x"})
except Exception as e:
    assert "the chain has no end" in str(e), e
else:
    raise AssertionError("the run did not fail")

waiting = client.threads.create()["thread_id"]
slow = client.runs.create(waiting, "waits", input={"topic": "x"})
client.runs.cancel(waiting, slow["run_id"], wait=True)
assert client.runs.get(waiting, slow["run_id"])["status"] == "interrupted"
client.runs.join(waiting, slow["run_id"])
client.runs.delete(waiting, slow["run_id"])

assert client.runs.wait(None, "steps", input={"topic": "tea"})["log"] == ALL
