package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

// withBlobs returns a store with blobs in memory, and the blobs.
func withBlobs(t *testing.T) (checkpoint.Store, *blob.Store) {
	t.Helper()
	blobs := blob.Over(new(blob.Map))
	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), blobs, checkpoint.BlobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return store, blobs
}

func TestBlob_IsStoredAndRead(t *testing.T) {
	store, _ := withBlobs(t)
	c := newClient(t, newServer(t, store))
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads", status: 200, save: "other=thread_id"})
	picture := "GIF89a and more"
	c.do(step{request: "POST /threads/{t}/blobs", body: picture, header: "Content-Type: application/x-www-form-urlencoded", status: 200,
		want: fmt.Sprintf("size=%d\ntype=image/gif", len(picture)), save: "h=$blob"})
	c.do(step{request: "GET /threads/{t}/blobs/{h}", status: 200, want: "=" + picture + "\nheader X-Content-Type-Options=nosniff" +
		"\nheader Content-Type=application/octet-stream\nheader Content-Security-Policy=default-src 'none'; sandbox"})
	c.do(step{request: "GET /threads/{t}/blobs/{h}?type=image/gif", status: 200, want: "header Content-Type=image/gif\nheader Content-Disposition=inline"})
	c.do(step{request: "GET /threads/{t}/blobs/{h}?type=image/svg%2Bxml", status: 200, want: "header Content-Type=application/octet-stream"})

	c.do(step{request: "POST /threads/{t}/blobs", body: "{}", header: "Content-Type: application/json", status: 200, want: "type=application/json"})
	c.do(step{request: "POST /threads/{t}/blobs", status: 200, want: "size=0\ntype="})
	c.do(step{request: "POST /threads/{t}/blobs", body: "x", header: "Content-Type: /", status: 415})
	c.do(step{request: "GET /threads/{other}/blobs/{h}", status: 404, want: "detail=Thread {other} has no blob {h}"})
	c.do(step{request: "GET /threads/{t}/blobs/" + strings.Repeat("0", 64), status: 404})
	c.do(step{request: "GET /threads/{t}/blobs/XYZ", status: 422})
	c.do(step{request: "GET /threads/" + unknownID + "/blobs/{h}", status: 404})
	c.do(step{request: "POST /threads/" + unknownID + "/blobs", body: "x", status: 404})
	c.do(step{request: "DELETE /threads/{t}", status: 204})
	c.do(step{request: "GET /threads/{t}/blobs/{h}", status: 404})

	none := newClient(t, newServer(t, new(checkpoint.Memory)))
	none.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	none.do(step{request: "POST /threads/{t}/blobs", body: "x", status: 404, want: "detail=this server has no blobs"})
}

// upload is a server that takes blobs of at most 3 MiB, and the address of the blobs of a thread.
func upload(t *testing.T, bodyTime time.Duration) (blobs *blob.Store, address string) {
	t.Helper()
	store, blobs := withBlobs(t)
	s := newServer(t, store, func(c *server.Config) { c.Limits = server.Limits{Blob: 3 << 20, BodyTime: bodyTime} })
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return blobs, listening.URL + "/threads/" + c.saved["t"] + "/blobs"
}

// claimed returns how many blobs have a claim.
func claimed(t *testing.T, blobs *blob.Store) (n int) {
	t.Helper()
	for owner, err := range blobs.Owners(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range blobs.Claims(t.Context(), owner) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

func TestBlob_Limits(t *testing.T) {
	blobs, address := upload(t, 0)
	content := make([]byte, 3<<20+1)
	_, _ = rand.Read(content)
	for size, status := range map[int]int{3 << 20: 200, 3<<20 + 1: 413} {
		answer, err := http.Post(address, "", bytes.NewReader(content[:size]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != status {
			t.Fatalf("%d bytes: got %d %s, %v; want %d", size, answer.StatusCode, body, err, status)
		}
		if status != 200 {
			continue
		}
		answer, err = http.Get(address + "/" + gjson.GetBytes(body, `\$blob`).String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !bytes.Equal(got, content[:size]) {
			t.Errorf("got %d bytes, %v; want what was sent", len(got), err)
		}
	}
	if n := claimed(t, blobs); n != 1 {
		t.Errorf("%d blobs are claimed, want the one that was not too large", n)
	}
}

// A client that stops in the middle of its body gets an answer, and leaves nothing.
func TestBlob_SlowClient(t *testing.T) {
	blobs, address := upload(t, 50*time.Millisecond)
	rest, _ := strings.CutPrefix(address, "http://")
	host, path, _ := strings.Cut(rest, "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\nhalf", path, host)
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Errorf("got %.200q, %v; want status 400", answer, err)
	}
	if n := claimed(t, blobs); n != 0 {
		t.Errorf("%d blobs are claimed, want none", n)
	}
}

// damagedTable returns chunks that were changed, once damaged is set.
type damagedTable struct {
	blob.Map
	damaged bool
}

func (d *damagedTable) Read(ctx context.Context, hash string, n int) ([]byte, error) {
	data, err := d.Map.Read(ctx, hash, n)
	if d.damaged {
		data = bytes.ToUpper(data)
	}
	return data, err
}

// A content that cannot be read to its end is not taken for the whole.
func TestBlob_DamagedContent(t *testing.T) {
	table := new(damagedTable)
	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), blob.Over(table), checkpoint.BlobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, store)
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/blobs", body: strings.Repeat("x", 2<<20), status: 200, save: "h=$blob"})
	listening := httptest.NewServer(s)
	defer listening.Close()
	table.damaged = true
	answer, err := http.Get(listening.URL + c.expand("/threads/{t}/blobs/{h}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("got %d bytes without an error, want one", len(got))
	}
}

// The studio shows the pictures of a thread, and offers its other blobs.
func TestStudio_ShowsBlobs(t *testing.T) {
	store, _ := withBlobs(t)
	b := graph.New[pictures]("pictures")
	b.Node("draw", graph.Func(func(ctx context.Context, s *pictures) error {
		for _, kind := range []string{"image/gif", "text/html"} {
			ref, err := state.PutBlob(ctx, strings.NewReader(kind+"<script>"))
			if err != nil {
				return err
			}
			ref.Type = kind
			s.Pictures.Append(ref)
		}
		return nil
	}))
	b.Edge(graph.Start, "draw")
	b.Edge("draw", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, store, func(c *server.Config) {
		c.Studio, c.Graphs = server.StudioOn, map[string]graph.Untyped{"pictures": g.Untyped()}
	})
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() { s.Work(ctx, server.Workers{Slots: 1}); close(worked) }()
	defer func() { cancel(); <-worked }()
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"pictures","input":{}}`, status: 200, save: "image=pictures.0.$blob\npage=pictures.1.$blob"})
	page := c.send(step{request: "GET /studio/threads/{t}"}).Body.String()
	for _, want := range []string{
		`<img src="/studio/threads/{t}/blobs/{image}?type=image%2Fgif" alt="image/gif of 17 B"`, `<a href="/studio/threads/{t}/blobs/{page}">download text/html of 17 B</a>`,
	} {
		if want = c.expand(want); !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	for path, kind := range map[string]string{"{image}?type=image%2Fgif": "image/gif", "{page}?type=text%2Fhtml": "application/octet-stream"} {
		w := c.send(step{request: "GET /studio/threads/{t}/blobs/" + path})
		if header := w.Header(); w.Code != 200 || header.Get("Content-Type") != kind || header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("%s: got %d %v, want a %s that runs nothing", path, w.Code, header, kind)
		}
	}
	if w := c.send(step{request: "GET /studio/threads/{t}/blobs/" + strings.Repeat("0", 64)}); w.Code != 404 {
		t.Errorf("an unknown blob: got %d, want 404", w.Code)
	}
}

// pictures is a state with blobs.
type pictures struct {
	Pictures state.List[state.BlobRef] `json:"pictures"`
}

// A hash alone does not show what another thread has.
func TestBlob_OfAnotherThreadIsRefused(t *testing.T) {
	store, _ := withBlobs(t)
	c := newClient(t, newServer(t, store))
	c.do(step{request: "POST /threads", body: `{"metadata":{"graph_id":"agent"}}`, status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads", body: `{"metadata":{"graph_id":"agent"}}`, status: 200, save: "other=thread_id"})
	c.do(step{request: "POST /threads/{t}/blobs", body: "a secret", status: 200, save: "h=$blob"})
	for _, name := range []string{`$blob`, `\u0024blob`, `$bl\u006fb`} {
		ref := `[{"x":{"` + name + `":"{h}","size":8}}]`
		refused := "detail=thread {other} has no blob {h}; send its content to POST /threads/{thread_id}/blobs first"
		c.do(step{request: "POST /threads/{other}/runs", body: `{"assistant_id":"agent","input":{"text":` + ref + `}}`, status: 422, want: refused})
		c.do(step{request: "POST /threads/{other}/runs", body: `{"assistant_id":"agent","command":{"resume":` + ref + `}}`, status: 422, want: refused})
		c.do(step{request: "POST /threads/{other}/state", body: `{"values":{"text":` + ref + `}}`, status: 422})
		c.do(step{request: "POST /runs", body: `{"assistant_id":"agent","input":{"text":` + ref + `}}`, status: 422})
		c.do(step{request: "POST /threads/{other}/runs", body: `{"assistant_id":"agent","input":{},"context":{"x":` + ref + `}}`, status: 422, want: refused})
		c.do(step{request: "POST /threads/{other}/runs", body: `{"assistant_id":"agent","input":{},"config":{"configurable":{"x":` + ref + `}}}`, status: 422, want: refused})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"agent","input":{"text":"{h}","x":` + ref + `}}`, status: 200})
	}
	c.do(step{request: "GET /threads/{other}/blobs/{h}", status: 404})
	for _, size := range []string{"7", "-8", `"8"`, "null", "8.0"} {
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"agent","input":{"text":"x","x":{"$blob":"{h}","size":` + size + `}}}`, status: 422})
	}
}
