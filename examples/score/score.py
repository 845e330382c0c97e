"""Reads calls from standard input, one JSON object a line, and writes a reply for each."""

import json
import sys


def score(text):
    """Returns the share of letters in a text, from 0 to 1."""
    letters = sum(1 for c in text if c.isalpha())
    return {"score": letters / len(text) if text else 0}


for line in sys.stdin:
    call = json.loads(line)
    try:
        reply = {"id": call["id"], "result": score(call["input"]["text"])}
    except Exception as e:
        reply = {"id": call["id"], "error": str(e)}
    print(json.dumps(reply), flush=True)
