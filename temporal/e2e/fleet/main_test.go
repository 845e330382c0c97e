package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerFlag {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestFleet_GoesOnAfterAKill(t *testing.T) {
	var out bytes.Buffer
	readBy, err := run(t.Context(), &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(readBy) != pages || len(slices.Compact(slices.Clone(readBy))) < 2 {
		t.Errorf("the pages were read by %v, want %d, by one worker and then by the other", readBy, pages)
	}
	for _, part := range []string{"kill -9 ", "went on after ", "done: 40 pages"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the output is\n%s\nwant %q in it", out.String(), part)
		}
	}
}
