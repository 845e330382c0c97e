package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/weftcli"
)

func TestParse_ReadsAddresses(t *testing.T) {
	for text, want := range map[string]address{
		"temporal://localhost:7233":                      {"localhost:7233", "default", "", "", 0},
		"temporal://localhost:7233/agents":               {"localhost:7233", "agents", "", "", 0},
		"temporal://[::1]:7233/agents/?queue=gpu":        {"[::1]:7233", "agents", "gpu", "", 0},
		"temporal://localhost:7233/agents?mode=node":     {"localhost:7233", "agents", "", temporal.Nodes, 0},
		"temporal://localhost:7233?mode=segment&queue=q": {"localhost:7233", "default", "q", temporal.Segments, 0},
		"temporal://localhost:7233?heartbeat=5s":         {"localhost:7233", "default", "", "", 5 * time.Second},
	} {
		if got, err := parse(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"temporal:", "temporal://", "temporal://localhost", "http://localhost:7233", "temporal://localhost:7233/a/b", "temporal://u:p@localhost:7233",
		"temporal://localhost:7233?mode=fast", "temporal://localhost:7233?tls=1", "temporal://localhost:7233?heartbeat=5", "temporal://localhost:7233?heartbeat=-1s",
		"temporal://localhost:7233?heartbeat=", "temporal://%zz",
	} {
		if _, err := parse(text); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: got %v, want an ErrAddress", text, err)
		}
	}
}

func TestOpen_FailsWithoutAServer(t *testing.T) {
	for address, want := range map[string]string{"temporal://127.0.0.1:1/default": "start a Temporal server at 127.0.0.1:1", "temporal://h:1?mode=fast": "mode is segment or node"} {
		e, err := Open(t.Context(), weftcli.EngineConfig{Address: address})
		if err == nil {
			_ = e.Close()
		}
		if hint := (*weftcli.EngineError)(nil); !errors.As(err, &hint) || !strings.Contains(hint.Next, want) {
			t.Errorf("%s: got %v, want an EngineError with the hint %q", address, err, want)
		}
	}
}
