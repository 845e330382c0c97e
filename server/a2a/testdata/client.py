"""Talks with an assistant with the official client of version 0.3."""
import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TaskState, TextPart

ADDRESS = sys.argv[1]


def said(text, **more):
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **more)


def texts(artifact):
    return "".join(p.root.text for p in artifact.parts if p.root.kind == "text")


async def last(stream):
    task = None
    async for task, _ in stream:
        pass
    return task


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, ADDRESS, agent_card_path="/.well-known/agent-card.json?assistant_id=talk").get_agent_card()
        assert card.name == "talk", card
        for streaming in (True, False):
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
            task = await last(client.send_message(said("weather")))
            assert task.status.state == TaskState.completed, task
            assert [texts(a) for a in task.artifacts if texts(a)] == ["It is sunny."], task
            asks = await last(client.send_message(said("ask")))
            assert asks.status.state == TaskState.input_required, asks
            done = await last(client.send_message(said("false", task_id=asks.id, context_id=asks.context_id)))
            assert done.id == asks.id and done.status.state == TaskState.completed, done
            assert texts(done.artifacts[-1]) == "Not sent.", done


asyncio.run(main())
