package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/racescale"
)

// stackBytes returns the size of the stacks of all goroutines, when each was shrunk as far as it
// can be.
func stackBytes() int64 {
	for range 4 { // each halves a stack at most
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// An idle stream keeps the frames of its handler. Go halves the stack of a goroutine of which less
// than a quarter is in use, so a few hundred bytes of a frame double the stacks of all streams.
// Frames of other processors have other sizes.
func TestStream_IdleStackIsSmall(t *testing.T) {
	for _, kind := range []struct{ name, method, path, body string }{
		{"of a thread", "GET", "/stream", ""},
		{"of the protocol", "POST", "/stream/events", `{"channels":["values"]}`},
	} {
		t.Run(kind.name, func(t *testing.T) {
			const streams = 400
			most := int64(15 << 10) // 8 KiB of the handler, and of what waits for the client to go
			if racescale.Raced {
				most *= 4 // frames are larger
			}
			s := newServer(t, &checkpoint.Memory{})
			web := httptest.NewServer(s)
			defer web.Close()
			c := newClient(t, s)
			c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
			request := fmt.Sprintf("%s /threads/%s%s HTTP/1.1\r\nHost: weft\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				kind.method, c.saved["t"], kind.path, len(kind.body), kind.body)
			before := stackBytes()
			for range streams {
				conn, err := net.Dial("tcp", web.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				if _, err := conn.Write([]byte(request)); err != nil {
					t.Fatal(err)
				}
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil || !strings.Contains(line, "200") {
					t.Fatalf("the stream begins with %q, %v", line, err)
				}
			}
			var each int64
			for range 100 { // a handler that is not idle yet has a large stack
				if each = (stackBytes() - before) / streams; each <= most {
					return
				}
			}
			t.Errorf("an idle stream has %d bytes of stacks, want at most %d", each, most)
		})
	}
}
