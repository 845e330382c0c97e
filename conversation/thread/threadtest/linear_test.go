package threadtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
	"github.com/weftrun/weft/internal/racing"
)

func TestManyGoroutinesLoseNoUpdateOfAThread(t *testing.T) {
	r := race
	r.Calls = 25
	for seed := range uint64(20) {
		docs := &document.Map{}
		begin(t, docs)
		r.Goroutines(t, docs, seed)
	}
}

// TestTheSpecificationNoticesLostUpdates lets a store forget conditions.
func TestTheSpecificationNoticesLostUpdates(t *testing.T) {
	lost := []racing.Line[did, saw]{
		{Client: 0, Did: did{What: "load"}, Call: 1, Return: 2},
		{Client: 0, Did: did{What: "save", Version: 1, Coins: 1}, Call: 3, Return: 6},
		{Client: 1, Did: did{What: "save", Version: 1, Coins: 2}, Call: 4, Return: 5},
	}
	if complaints.Of(t, func(tb testing.TB) { race.Judge(tb, lost) }) == "" {
		t.Error("rule: two saves from one version cannot both succeed\n got: silence")
	}
}
