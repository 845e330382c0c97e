package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

func TestDecide(t *testing.T) {
	at := func(s graph.Status) graph.CommitInfo { return graph.CommitInfo{Status: s} }
	for _, c := range []struct {
		name                 string
		p                    graph.CommitInfo
		found, same, newTurn bool
		queue                bool
		want                 action
	}{
		{"new", graph.CommitInfo{}, false, false, false, false, begin},
		{"new, --new-turn", graph.CommitInfo{}, false, false, true, false, begin},
		{"waits", at(graph.Interrupted), true, true, false, false, ask},
		{"waits, other input", at(graph.Interrupted), true, false, false, false, refuseOpen},
		{"waits, --new-turn", at(graph.Interrupted), true, true, true, false, begin},
		{"waits, other input, --queue", at(graph.Interrupted), true, false, false, true, begin},
		{"waits, same input, --queue", at(graph.Interrupted), true, true, false, true, ask},
		{"cut off, other input, --queue", at(graph.Pending), true, false, false, true, refuseWork},
		{"cut off", at(graph.Pending), true, true, false, false, goOn},
		{"cut off, other input", at(graph.Pending), true, false, false, false, refuseWork},
		{"cut off, --new-turn", at(graph.Pending), true, true, true, false, begin},
		{"done", at(graph.Done), true, true, false, false, show},
		{"done, other input", at(graph.Done), true, false, false, false, begin},
		{"done, --new-turn", at(graph.Done), true, true, true, false, begin},
	} {
		if got := decide(c.p, c.found, c.same, c.newTurn, c.queue); got != c.want {
			t.Errorf("%s: action %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAnswer_FitsItsQuestion(t *testing.T) {
	text, yes := json.RawMessage(`{"type":"string"}`), json.RawMessage(`{"type":"boolean"}`)
	ask := func(id string, schema json.RawMessage) graph.Interrupt {
		return graph.Interrupt{ID: id, Kind: "question", Schema: schema}
	}
	only := func(schema json.RawMessage) []graph.Interrupt {
		return []graph.Interrupt{{ID: "aaaa111122223333", Kind: "question", Schema: schema}}
	}
	permit := only(json.RawMessage(`{"type":"object","properties":{"type":{"enum":["approve","reject"]}}}`))
	permit[0].Action = &graph.Action{Name: "pay", Allow: []graph.DecisionType{graph.DecisionApprove, graph.DecisionReject}}
	single := []graph.Interrupt{ask("aaaa111122223333", text)}
	both := []graph.Interrupt{ask("aaaa111122223333", text), ask("aaab111122223333", yes)}
	for _, c := range []struct {
		open     []graph.Interrupt
		had      []string
		flag     string
		id, want string
	}{
		{single, nil, "true", "", `"true"`},
		{single, nil, `"true"`, "", `"true"`},
		{single, nil, "yes", "", `"yes"`},
		{only(yes), nil, "yes", "", "true"},
		{only(yes), nil, "No", "", "false"},
		{only(yes), nil, "y", "", "true"},
		{only(yes), nil, "true", "", "true"},
		{only(yes), nil, "edit", "", `"edit"`},
		{permit, nil, "yes", "", `{"type":"approve"}`},
		{permit, nil, "reject", "", `{"type":"reject"}`},
		{permit, nil, "false", "", `false`},
		{permit, nil, "maybe", "", `"maybe"`},
		{permit, nil, `{"type":"approve"}`, "", `{"type":"approve"}`},
		{only(json.RawMessage(`{"type":"object"}`)), nil, "yes", "", `"yes"`},
		{only(json.RawMessage(`{"enum":["yes","no"]}`)), nil, "yes", "", `"yes"`},
		{only(nil), nil, "yes", "", `"yes"`},
		{both, nil, "aaab1=no", "aaab111122223333", "false"},
		{single, nil, "x=y", "", `"x=y"`},
		{single, nil, "bbbb=y", "", `"bbbb=y"`},
		{single, nil, "aaa=y", "", `"aaa=y"`},
		{single, nil, "aaaa=y=z", "aaaa111122223333", `"y=z"`},
		{single, []string{"bbbb111122223333"}, "bbbb=y", "bbbb111122223333", `"y"`},
		{single, nil, "bbbb111122223333=y", "bbbb111122223333", `"y"`},
		{both, nil, "aaab1=true", "aaab111122223333", "true"},
		{both, nil, "aaab1=maybe", "aaab111122223333", `"maybe"`},
		{both, nil, "aaaa=5", "aaaa111122223333", `"5"`},
		{nil, nil, "5", "", "5"},
		{[]graph.Interrupt{ask("aaaa111122223333", nil)}, nil, `{"a":1}`, "", `{"a":1}`},
	} {
		r := answerer{open: c.open, had: c.had}
		id, value, err := r.split(c.flag)
		if got := string(r.value(id, value)); err != nil || id != c.id || got != c.want {
			t.Errorf("%s: id %q, value %s, error %v; want id %q, value %s", c.flag, id, got, err, c.id, c.want)
		}
	}
	similar := answerer{open: []graph.Interrupt{ask("aaaa111122223333", text), ask("aaaa222222223333", text)}}
	if _, _, err := similar.split("aaaa=x"); err == nil {
		t.Error("an id that begins two questions was taken")
	}
}

func TestDefaultStore_FollowsTheSystem(t *testing.T) {
	home := func() (string, error) { return "/home/ada", nil }
	none := func() (string, error) { return "", errors.New("none") }
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		system string
		env    func(string) string
		home   func() (string, error)
		want   string
	}{
		{"linux", env(), home, "/home/ada/.local/state/weft/weft.db"},
		{"linux", env("XDG_STATE_HOME", "/s"), none, "/s/weft/weft.db"},
		{"linux", env("XDG_STATE_HOME", "relative"), home, "/home/ada/.local/state/weft/weft.db"},
		{"darwin", env(), home, "/home/ada/Library/Application Support/weft/weft.db"},
		{"windows", env("LocalAppData", "/l"), home, "/l/weft/weft.db"},
		{"linux", env(), none, ""},
	} {
		got, err := defaultFile(c.system, c.env, c.home)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.system, got, err, c.want)
		}
	}
}

func TestMain_LeavesNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t)
	var stdout, stderr bytes.Buffer
	c := Config{Stdout: &stdout, Stderr: &stderr, Args: []string{"threads", "--store", "memory:"}}
	if code := Main(context.Background(), c); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

func TestInvocation_GoRun(t *testing.T) {
	if !fromGoRun("/tmp/go-build123/b001/exe/weft") || fromGoRun("/usr/local/bin/weft") {
		t.Error("fromGoRun must depend on the folder of the program")
	}
	if got := reports.Quote("it's"); got != `'it'\''s'` {
		t.Errorf("quote = %s", got)
	}
}

func TestGetting_ReleaseAndClone(t *testing.T) {
	const self = "github.com/weftrun/weft"
	dep := func(version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "support"}, Deps: []*debug.Module{{Path: self, Version: version, Replace: replace}}}
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{dep("v1.2.3", nil), "go get " + self + "@v1.2.3"},
		{&debug.BuildInfo{Main: debug.Module{Path: self, Version: "v0.4.0"}}, "go get " + self + "@v0.4.0"},
		{dep("v1.2.3", &debug.Module{Path: "../weft"}), "go mod edit -replace " + self + "=CLONE"},
		{dep("v0.0.0-20261122000000-abcdefabcdef", nil), "go mod edit -replace " + self + "=CLONE"},
		{&debug.BuildInfo{Main: debug.Module{Path: self, Version: "(devel)"}}, "go mod edit -replace " + self + "=CLONE"},
		{nil, "go mod edit -replace " + self + "=CLONE"},
	} {
		if got, _, _ := strings.Cut(getting(c.info), " #"); strings.TrimSpace(got) != c.want {
			t.Errorf("%+v: got %q, want %q", c.info, got, c.want)
		}
	}
}
