package main

import (
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestOrder_IsAnsweredAfterReopening(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	res, err := order(t.Context(), file)
	if err != nil || res.Status != graph.Interrupted || res.Interrupts[0].Prompt != "Pay for 2 items?" {
		t.Fatalf("got %s %v, %v; want the question", res.Status, res.Interrupts, err)
	}
	res, err = order(t.Context(), file, false)
	if paid, said := res.State.Paid.Lookup(); err != nil || res.Status != graph.Done || paid || !said {
		t.Errorf("got %s %v, %v; want it done and not paid", res.Status, res.State, err)
	}
}
