package main

import (
	"os"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

func TestCapability_HasFewerThan40Lines(t *testing.T) {
	text, err := os.ReadFile("capability.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n >= 40 {
		t.Errorf("capability.go has %d lines, want less than 40", n)
	}
}

func TestChat_AnswersAsksAndRemembers(t *testing.T) {
	in := `How warm is it in Oslo?
and on the moon?
/planning!:on
Then in Seattle?
hm
yes
/status
/exit
never read
`
	want := `> How warm is it in Oslo?
FORECAST.forecast: Oslo: 3 °C

> and on the moon?
I could not finish this.

- **Task**: and on the moon?
- **Where**: forecast
- **What**: capability "forecast": no city that I know is in "and on the moon?"
- **Not done**: Step 1: reports the temperature in a city

> /planning!:on
/planning:on is set for this conversation.

> Then in Seattle?
Carry out this plan?

1. forecast: reports the temperature in a city
2. respond: answer the user

Answer yes, or no and why; /cancel ends the turn. Change it with /edit and JSON; /edit alone shows what there is to change.

> hm
That is no clear answer.

Carry out this plan?

1. forecast: reports the temperature in a city
2. respond: answer the user

Answer yes, or no and why; /cancel ends the turn. Change it with /edit and JSON; /edit alone shows what there is to change.

> yes
FORECAST.forecast: Seattle: 14 °C

> /status
Turn 3 is done; 6 messages, 1 context, 0 open questions.

> /exit


`
	var out strings.Builder
	if err := chat(t.Context(), &checkpoint.Memory{}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
