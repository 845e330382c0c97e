package servicetest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/testreport"
)

func TestRun_DocumentsInMemory(t *testing.T) { Run(t, new(document.Map)) }

func TestSession_ConcurrentWriters(t *testing.T) {
	for seed := range uint64(10) {
		docs := new(document.Map)
		createSession(t, docs)
		race.Goroutines(t, docs, seed)
	}
}

func TestJudge_WrongSessionHistories(t *testing.T) {
	a, b := call{"append", "a"}, call{"turn", "b"}
	one, both := op(0, a, result{Count: 1}, 1, 2), op(1, b, result{Log: "a", Count: 2}, 3, 4)
	for name, history := range map[string][]Operation[call, result]{
		"a message is lost":                  {one, both, op(0, call{Name: "log"}, result{Log: "b"}, 5, 6)},
		"a turn did not read a message":      {one, op(1, b, result{Count: 2}, 3, 4)},
		"two messages have one place":        {one, op(1, call{"append", "c"}, result{Count: 1}, 1, 3)},
		"an append has a conflict":           {op(0, a, result{Conflict: true}, 1, 2)},
		"the order of the messages is wrong": {one, both, op(0, call{Name: "log"}, result{Log: "b a"}, 5, 6)},
	} {
		if testreport.Of(t, func(tb testing.TB) { race.Judge(tb, history) }) == "" {
			t.Errorf("%s: Judge reports nothing", name)
		}
	}
}

func op(client int, in call, out result, start, end int64) Operation[call, result] {
	return Operation[call, result]{Client: client, In: in, Out: out, Call: start, Return: end}
}
