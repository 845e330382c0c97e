package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/weftrun/weft/server/wire"
)

func TestCheckpointID_IsReadAsItWasWritten(t *testing.T) {
	t0 := time.Date(2026, 11, 24, 9, 0, 0, 123456789, time.UTC)
	var last string
	for i, number := range []uint64{1, 2, 3, 1 << 13, 1<<14 + 5, 1<<47 - 1} {
		at := t0.Add(time.Duration(i) * time.Microsecond)
		for phase := range 2 {
			id := wire.CheckpointOf(number, phase, at)
			got, err := wire.ParseCheckpointID(id.String())
			if err != nil || got != id {
				t.Errorf("ParseCheckpointID(%s) = %v, %v; want %v", id, got, err, id)
			}
			if !got.Matches(number, at) || got.Matches(number, at.Add(time.Microsecond)) || got.Matches(number+1, at) {
				t.Errorf("%v must match its own number and time, and no others", got)
			}
			if s := id.String(); s <= last {
				t.Errorf("id %s of a later commit or phase must sort after %s", s, last)
			} else {
				last = s
			}
		}
	}
}

func TestParseCheckpointID_RefusesOtherIDs(t *testing.T) {
	for _, s := range []string{
		"", "x", "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "019abcde-0000-7000-8000-000000000000",
		"{1ef00000-0000-6000-8000-000000000002}", "1ef00000-0000-6000-8000-000000000002",
		"1ef00000-0000-6001-8002-000000000002", "1ef00000-0000-6000-0001-000000000002",
	} {
		if id, err := wire.ParseCheckpointID(s); !errors.Is(err, wire.ErrID) {
			t.Errorf("ParseCheckpointID(%q) = %v, %v; want an ErrID", s, id, err)
		}
	}
}

func TestAssistantUUID_IsThatOfTheReferenceServers(t *testing.T) {
	if got, want := wire.AssistantUUID("agent"), "fe096781-5601-53d2-b2f6-0d3403f7e9ca"; got != want {
		t.Errorf("AssistantUUID(agent) = %s, want %s", got, want)
	}
}

func TestThreadUUID_KeepsUUIDs(t *testing.T) {
	id := "019abcde-0000-7000-8000-000000000000"
	if got := wire.ThreadUUID(id); got != id {
		t.Errorf("ThreadUUID(%s) = %s, want it unchanged", id, got)
	}
	for _, name := range []string{"", "t1", "019ABCDE-0000-7000-8000-000000000000"} {
		got := wire.ThreadUUID(name)
		if _, err := wire.ParseUUID(got); err != nil || got == name || got != wire.ThreadUUID(name) {
			t.Errorf("ThreadUUID(%q) = %q, want a UUID that is always the same", name, got)
		}
	}
}

func TestNamespaces_AreReversible(t *testing.T) {
	const hex, id = "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdef"
	for _, c := range []struct{ weft, wire string }{
		{"", ""},
		{"sub:" + hex, "sub:" + id},
		{"a:" + hex + "|b:" + hex, "a:" + id + "|b:" + id},
		{"a:" + hex + "#2|b:" + hex + "@17", "a:" + id + "#2|b:" + id + "@17"},
		{"a:" + hex + "#2@5", "a:" + id + "#2@5"},
		{"a:0123456789abcdef", "a:0123456789abcdef"},
	} {
		if got := wire.NamespaceToWire(c.weft); got != c.wire {
			t.Errorf("NamespaceToWire(%q) = %q, want %q", c.weft, got, c.wire)
		}
		if got := wire.NamespaceFromWire(c.wire); got != c.weft {
			t.Errorf("NamespaceFromWire(%q) = %q, want %q", c.wire, got, c.weft)
		}
	}
	if got := wire.NamespaceToWire("outer|memory/notes"); got != "outer|memory" {
		t.Errorf("the namespace of a graph that lives as long as the thread must be the name of its node (got %q)", got)
	}
	known := []string{"sub:" + hex, "outer|memory/notes"}
	for ns, want := range map[string]string{"": "", "outer|memory": known[1], "sub:" + id: known[0], "sub:" + hex: known[0]} {
		if got, ok := wire.FindNamespace(ns, known); !ok || got != want {
			t.Errorf("FindNamespace(%q) = %q, %v; want %q", ns, got, ok, want)
		}
	}
	if got, ok := wire.FindNamespace("other", known); ok {
		t.Errorf("FindNamespace(other) = %q, want none", got)
	}
}

func TestTaskUUID_IsReversible(t *testing.T) {
	for _, id := range []string{"0123456789abcdef0123456789abcdef", "", "t1", "0123456789ABCDEF0123456789ABCDEF"} {
		if got := wire.TaskID(wire.TaskUUID(id)); got != id {
			t.Errorf("TaskID(TaskUUID(%q)) = %q", id, got)
		}
	}
}

func TestDialectOf_KnowsThePrefixes(t *testing.T) {
	for _, c := range []struct {
		agent, accept string
		want          wire.Dialect
	}{
		{"node", "*/*", wire.JavaScript}, {"undici", "", wire.JavaScript}, {"Bun/1.1", "*/*", wire.JavaScript},
		{"Deno/2", "*/*", wire.JavaScript}, {"Mozilla/5.0 (X11)", "text/event-stream", wire.JavaScript},
		{"Mozilla/5.0 (X11)", "application/json, text/html", wire.Python}, {"python-httpx/0.28", "*/*", wire.Python}, {"", "", wire.Python},
	} {
		if got := wire.DialectOf(c.agent, c.accept); got != c.want {
			t.Errorf("DialectOf(%q, %q) = %s, want %s", c.agent, c.accept, got, c.want)
		}
	}
}

func TestError_BodyDependsOnTheDialect(t *testing.T) {
	e := wire.Errorf(wire.CodeThreadNotFound, "Thread with ID %s not found", "t1")
	if media, body := e.Body(wire.Python); media != "application/json" ||
		string(body) != `{"detail":"Thread with ID t1 not found","code":"thread_not_found"}` {
		t.Errorf("in Python: %s %s", media, body)
	}
	if media, body := e.Body(wire.JavaScript); media != "text/plain; charset=utf-8" || string(body) != "Thread with ID t1 not found" {
		t.Errorf("in JavaScript: %s %s", media, body)
	}
	if got := e.HTTPStatus(wire.Python); got != http.StatusNotFound {
		t.Errorf("status %d, want 404", got)
	}
	bad := wire.Errorf(wire.CodeInvalidJSON, "Invalid JSON in request body")
	if py, js := bad.HTTPStatus(wire.Python), bad.HTTPStatus(wire.JavaScript); py != 422 || js != 400 {
		t.Errorf("malformed JSON must be 422, and 400 in JavaScript (got %d and %d)", py, js)
	}
}

func TestObjects_HaveTheKeysInOrder(t *testing.T) {
	at := wire.At(time.Date(2026, 11, 24, 9, 0, 0, 120_000_000, time.FixedZone("", 3600)))
	for _, c := range []struct {
		v    any
		want string
	}{
		{wire.Assistant{AssistantID: "a", GraphID: "g", Name: "Untitled", Version: 1, CreatedAt: at, UpdatedAt: at},
			`{"assistant_id":"a","graph_id":"g","config":{},"context":{},"metadata":{},"name":"Untitled","description":null,"version":1,` +
				`"created_at":"2026-11-24T08:00:00.120Z","updated_at":"2026-11-24T08:00:00.120Z"}`},
		{wire.Thread{ThreadID: "t", CreatedAt: at, UpdatedAt: at, StateUpdatedAt: at, Status: wire.ThreadIdle},
			`{"thread_id":"t","created_at":"2026-11-24T08:00:00.120Z","updated_at":"2026-11-24T08:00:00.120Z",` +
				`"state_updated_at":"2026-11-24T08:00:00.120Z","metadata":{},"status":"idle","config":{},"values":null}`},
		{wire.Thread{Interrupts: map[string][]wire.Interrupt{"k": {}}},
			`{"thread_id":"","created_at":null,"updated_at":null,"state_updated_at":null,"metadata":{},"status":"","config":{},"values":null,"interrupts":{"k":[]}}`},
		{wire.EmptyState(),
			`{"values":{},"next":[],"tasks":[],"metadata":{},"created_at":null,"checkpoint":null,"parent_checkpoint":null}`},
		{wire.FoundItem{Item: wire.Item{Namespace: []string{"a"}, Key: "k", Value: json.RawMessage("{}")}},
			`{"namespace":["a"],"key":"k","value":{},"created_at":null,"updated_at":null,"score":null}`},
	} {
		if got, err := json.Marshal(c.v); err != nil || string(got) != c.want {
			t.Errorf("%T: %v\n got %s\nwant %s", c.v, err, got, c.want)
		}
	}
}
