package server

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestEventStream_BeatsWhileItIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		s := (&call{Request: httptest.NewRequest("GET", "/", nil), w: w}).openStream()
		send := func(event, id, data string) {
			t.Helper()
			if err := s.send(event, id, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		send("metadata", "0", `{"run_id":"r"}`)
		time.Sleep(4 * time.Second)
		send("values", "", `{}`)
		time.Sleep(11 * time.Second) // two heartbeats
		s.close()
		time.Sleep(time.Minute)
		const want = "event: metadata\ndata: {\"run_id\":\"r\"}\nid: 0\n\nevent: values\ndata: {}\n\n: heartbeat\n\n: heartbeat\n\n"
		if got := w.Body.String(); got != want {
			t.Errorf("the stream is\n%s\nwant\n%s", got, want)
		}
	})
}
