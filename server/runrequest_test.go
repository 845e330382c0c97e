package server

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/server/wire"
)

func TestRunRequest_Check(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"assistant_id":"a"}`: true,
		`{"assistant_id":"a","stream_mode":"updates","command":{"resume":null}}`:       true,
		`{"assistant_id":"a","stream_mode":["values","debug"],"interrupt_before":"*"}`: true,
		`{"assistant_id":"a","multitask_strategy":"rollback","durability":"exit"}`:     true,
		`{"assistant_id":"a","command":null,"config":null,"stream_mode":null}`:         true,
		`{}`: false,
		`{"assistant_id":"a","stream_mode":"nothing"}`:   false,
		`{"assistant_id":"a","command":{}}`:              false,
		`{"assistant_id":"a","command":{"update":null}}`: false,
		`{"assistant_id":"a","command":"x"}`:             false,
		`{"assistant_id":"a","multitask_strategy":"x"}`:  false,
		`{"assistant_id":"a","on_disconnect":"x"}`:       false,
		`{"assistant_id":"a","on_completion":"x"}`:       false,
		`{"assistant_id":"a","if_not_exists":"x"}`:       false,
		`{"assistant_id":"a","durability":"x"}`:          false,
		`{"assistant_id":"a","after_seconds":-1}`:        false,
		`{"assistant_id":"a","after_seconds":1e300}`:     false,
	} {
		var q runRequest
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if err := q.check(); (err == nil) != ok {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestRunRequest_Defaults(t *testing.T) {
	var q runRequest
	if err := json.Unmarshal([]byte(`{"assistant_id":"a","checkpoint_during":false}`), &q); err != nil {
		t.Fatal(err)
	}
	if err := q.check(); err != nil {
		t.Fatal(err)
	}
	got := []any{q.StreamMode[0], q.Multitask, q.OnDisconnect, q.OnCompletion, q.IfNotExists, q.Durability}
	want := []any{"values", wire.MultitaskEnqueue, "continue", "delete", "reject", "exit"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMergeConfig_RequestComesFirst(t *testing.T) {
	base := wire.Config{Tags: []string{"a"}, RecursionLimit: 5, Configurable: wire.Object{"x": []byte("1"), "y": []byte("2")}}
	got := mergeConfig(base, &wire.Config{Tags: []string{"b"}, Configurable: wire.Object{"y": []byte("3")}})
	want := wire.Config{Tags: []string{"a", "b"}, RecursionLimit: 5, Configurable: wire.Object{"x": []byte("1"), "y": []byte("3")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if string(base.Configurable["y"]) != "2" {
		t.Error("the configuration of the assistant was changed")
	}
}
