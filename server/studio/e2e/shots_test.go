package e2e

import (
	"fmt"
	"os"
	"testing"
)

func TestPages_Pictures(t *testing.T) {
	if os.Getenv("WEFT_SHOTS") == "" {
		t.Skip("WEFT_SHOTS names no folder for pictures")
	}
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"Why is the sky blue?"}`)
	paths := map[string]string{"graphs": "/studio/graphs", "graph": "/studio/graphs/report", "threads": "/studio/threads", "inbox": "/studio/inbox", "thread": "/studio/threads/" + thread}
	b := s.open(t, "/studio/threads/"+thread)
	b.sees("Send this report?")
	for name, path := range paths {
		for _, look := range []string{"light", "dark"} {
			for _, width := range []int64{400, 1024, 1600} {
				b := s.open(t, path, theme(look), size(width, 1200))
				b.shot(fmt.Sprintf("%s-%s-%d", name, look, width))
			}
		}
	}
}
