package threadtest

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
)

func TestManyGoroutinesLoseNoUpdateOfAThread(t *testing.T) {
	for seed := range uint64(20) {
		docs := &document.Map{}
		begin(t, docs)
		var writers []*writer
		for client := range 4 {
			writers = append(writers, newWriter(client, seed, docs))
		}
		judge(t, together(t, 25, writers...)...)
	}
}

// TestTheSpecificationNoticesLostUpdates lets a store forget conditions.
func TestTheSpecificationNoticesLostUpdates(t *testing.T) {
	lost := []told{
		{0, did{What: "load"}, saw{}, 1, 2},
		{0, did{What: "save", Version: 1, Coins: 1}, saw{}, 3, 6},
		{1, did{What: "save", Version: 1, Coins: 2}, saw{}, 4, 5},
	}
	var all []porcupine.Operation
	for _, l := range lost {
		all = append(all, porcupine.Operation{ClientId: l.Client, Input: l.Did, Output: l.Saw, Call: l.Call, Return: l.Return})
	}
	if got := porcupine.CheckOperationsTimeout(specification, all, time.Minute); got != porcupine.Illegal {
		t.Errorf("rule: two saves from one version cannot both succeed\n got: %s\nwant: %s", got, porcupine.Illegal)
	}
}
