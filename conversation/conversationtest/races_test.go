package conversationtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
	"github.com/weftrun/weft/internal/racing"
)

func TestManyGoroutinesLoseNothingOfAConversation(t *testing.T) {
	for seed := range uint64(10) {
		race.Goroutines(t, new(document.Map), seed)
	}
}

func TestTheSpecificationNoticesLostMessages(t *testing.T) {
	a := line(0, did{What: "add", Text: "a"}, "", 1, 2)
	for why, trace := range map[string][]racing.Line[did, string]{
		"a message is lost":         {a, line(1, did{What: "get"}, "a:a", 3, 4)},
		"two are parted":            {a, line(1, did{What: "add", Text: "b"}, "", 1, 2), line(0, did{What: "get"}, "a:a b:b a+:a b+:b", 3, 4)},
		"an older text comes back":  {line(0, did{What: "put", Text: "1"}, "", 1, 2), line(0, did{What: "put", Text: "2"}, "", 3, 4), line(1, did{What: "get"}, "shared:1", 5, 6)},
		"the last are others":       {a, line(1, did{What: "get", Last: 1}, "a:a", 3, 4)},
		"a message comes too early": {line(0, did{What: "get"}, "a:a a+:a", 1, 2), line(1, did{What: "add", Text: "a"}, "", 3, 4)},
	} {
		if complaints.Of(t, func(tb testing.TB) { race.Judge(tb, trace) }) == "" {
			t.Errorf("rule: %s is noticed\n got: silence", why)
		}
	}
}

func line(client int, d did, read string, call, ret int64) racing.Line[did, string] {
	return racing.Line[did, string]{Client: client, Did: d, Saw: read, Call: call, Return: ret}
}
