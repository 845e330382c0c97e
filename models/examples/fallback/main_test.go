package main

import (
	"bytes"
	"testing"
)

func TestRun_FallsBackWithinOneBudget(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := "flash-1: The second one.\n2 of 3 calls are spent\nmodel: the budget is spent: 3 of 3 calls\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
