# Chats with an assistant with the official client.
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="key of ada")


def ask(content, **more):
    return client.chat.completions.create(model="talk", messages=[{"role": "user", "content": content}], **more)


assert [m.id for m in client.models.list()] == ["talk"]

hello = ask("hello", temperature=0.2)
assert hello.choices[0].message.content == "Hello, world.", hello
assert hello.usage.total_tokens == 8, hello

parts = [{"type": "text", "text": "hello"}]
text = "".join(c.choices[0].delta.content or "" for c in ask(parts, stream=True) if c.choices)
assert text == "Hello, world.", text

mine = {"thread_id": "a chat of mine"}
asked = ask("ask", extra_body=mine)
assert asked.choices[0].message.content == "Send it?", asked
assert asked.model_extra["weft"]["questions"][0]["prompt"] == "Send it?", asked
assert ask("no", extra_body=mine).choices[0].message.content == "Not sent."

try:
    ask("fail")
    raise AssertionError("a run that fails has no answer")
except openai.InternalServerError as e:
    assert "the model is down" in str(e), e
