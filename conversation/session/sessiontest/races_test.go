package sessiontest

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
	"github.com/weftrun/weft/internal/racing"
)

func TestManyGoroutinesLoseNothingOfASession(t *testing.T) {
	for seed := range uint64(10) {
		store := new(document.Map)
		createS(t, store)
		race.Goroutines(t, store, seed)
	}
}

func TestTheSpecificationNoticesLostMessagesAndBlindTurns(t *testing.T) {
	a, b := did{"append", "a"}, did{"turn", "b"}
	one, both := line(0, a, saw{Count: 1}, 1, 2), line(1, b, saw{Log: "a", Count: 2}, 3, 4)
	for why, trace := range map[string][]racing.Line[did, saw]{
		"a message is lost":                   {one, both, line(0, did{What: "log"}, saw{Log: "b"}, 5, 6)},
		"a turn answers what it has not seen": {one, line(1, b, saw{Count: 2}, 3, 4)},
		"two have one place":                  {one, line(1, did{"append", "c"}, saw{Count: 1}, 1, 3)},
		"an append is refused":                {line(0, a, saw{Conflict: true}, 1, 2)},
		"the order changes":                   {one, both, line(0, did{What: "log"}, saw{Log: "b a"}, 5, 6)},
	} {
		if complaints.Of(t, func(tb testing.TB) { race.Judge(tb, trace) }) == "" {
			t.Errorf("rule: %s is noticed\n got: %s", why, porcupine.Ok)
		}
	}
}

func line(client int, d did, s saw, call, ret int64) racing.Line[did, saw] {
	return racing.Line[did, saw]{Client: client, Did: d, Saw: s, Call: call, Return: ret}
}
