"""Drives assistants, threads and the store with the Python SDK."""

import sys

import httpx
from langgraph_sdk import get_sync_client


def refused(status, f, *args, **named):
    try:
        f(*args, **named)
    except httpx.HTTPStatusError as e:
        assert e.response.status_code == status, e.response.text
        return
    raise AssertionError(f"{f} was not refused")


client = get_sync_client(url=sys.argv[1])

[system] = client.assistants.search(graph_id="other")
assert system["metadata"] == {"created_by": "system"}
made = client.assistants.create("other", name="Mine", metadata={"n": 1})
refused(409, client.assistants.create, "other", assistant_id=made["assistant_id"])
assert client.assistants.create("other", assistant_id=made["assistant_id"], if_exists="do_nothing")["name"] == "Mine"
assert client.assistants.update(made["assistant_id"], name="Yours")["version"] == 2
assert [v["version"] for v in client.assistants.get_versions(made["assistant_id"])] == [2, 1]
assert client.assistants.set_latest(made["assistant_id"], 1)["name"] == "Mine"
assert client.assistants.count(graph_id="other") == 2
client.assistants.delete(made["assistant_id"])
refused(404, client.assistants.get, made["assistant_id"])

thread = client.threads.create(metadata={"who": "bob"}, ttl=60)
assert client.threads.get(thread["thread_id"])["status"] == "idle"
client.threads.update(thread["thread_id"], metadata={"n": 1})
assert [t["thread_id"] for t in client.threads.search(metadata={"who": "bob", "n": 1})] == [thread["thread_id"]]
assert client.threads.count(metadata={"who": "bob"}) == 1
client.threads.copy(thread["thread_id"])
assert client.threads.count(metadata={"who": "bob"}) == 2
client.threads.delete(thread["thread_id"])
refused(404, client.threads.get, thread["thread_id"])

client.store.put_item(["users", "bob"], key="tea", value={"kind": "black"}, ttl=60)
assert client.store.get_item(["users", "bob"], key="tea")["value"] == {"kind": "black"}
assert len(client.store.search_items(["users"], query="black")["items"]) == 1
assert client.store.list_namespaces(prefix=["users"])["namespaces"] == [["users", "bob"]]
client.store.delete_item(["users", "bob"], key="tea")
