package engine

import (
	"errors"
	"testing"

	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/weftcli"
)

func TestParse_ReadsAddresses(t *testing.T) {
	for text, want := range map[string]address{
		"temporal://localhost:7233":                      {"localhost:7233", "default", "", ""},
		"temporal://localhost:7233/agents":               {"localhost:7233", "agents", "", ""},
		"temporal://[::1]:7233/agents/?queue=gpu":        {"[::1]:7233", "agents", "gpu", ""},
		"temporal://localhost:7233/agents?mode=node":     {"localhost:7233", "agents", "", temporal.Nodes},
		"temporal://localhost:7233?mode=segment&queue=q": {"localhost:7233", "default", "q", temporal.Segments},
	} {
		if got, err := parse(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"temporal:", "temporal://", "temporal://localhost", "http://localhost:7233", "temporal://localhost:7233/a/b", "temporal://u:p@localhost:7233",
		"temporal://localhost:7233?mode=fast", "temporal://localhost:7233?tls=1", "temporal://%zz",
	} {
		if _, err := parse(text); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: got %v, want an ErrAddress", text, err)
		}
	}
}

func TestOpen_FailsWithoutAServer(t *testing.T) {
	for _, address := range []string{"temporal://127.0.0.1:1/default", "temporal://nowhere"} {
		if e, err := Open(t.Context(), weftcli.EngineConfig{Address: address}); err == nil {
			_ = e.Close()
			t.Errorf("%s was opened", address)
		}
	}
}
