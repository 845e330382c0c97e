package capabilities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
)

// provider returns a capability that returns one entry of each of these types.
func provider(name string, requires, provides, returns []string) capabilities.Capability {
	info := capabilities.Info{Name: name, Description: "tests", Requires: requires, Provides: provides}
	return capabilities.Func(info, func(context.Context, capabilities.Contexts) (capabilities.Contexts, error) {
		out := capabilities.Contexts{}
		for _, t := range returns {
			out[t] = map[string]json.RawMessage{name: json.RawMessage(`{}`)}
		}
		return out, nil
	})
}

func TestNamesComeAfterWhatTheyRequire(t *testing.T) {
	r, err := capabilities.NewRegistry(
		provider("a-plot", []string{"DATA"}, []string{"PICTURE"}, nil),
		provider("b-load", []string{"NAME"}, []string{"DATA"}, nil),
		provider("c-find", nil, []string{"NAME"}, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Names(), []string{"c-find", "b-load", "a-plot"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	_, err := capabilities.NewRegistry(
		provider("", nil, nil, nil),
		provider("twice", nil, nil, nil),
		provider("twice", nil, nil, nil),
		provider("lost", []string{"NOWHERE"}, nil, nil),
		capabilities.Func(capabilities.Info{Name: "mute"}, nil),
	)
	for _, want := range []string{"number 1 has no name", `"twice" is taken twice`, `"lost" requires "NOWHERE"`, `"mute" has no description`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %s", err, want)
		}
	}
}

func TestACircleIsAnError(t *testing.T) {
	_, err := capabilities.NewRegistry(
		provider("hen", []string{"EGG"}, []string{"HEN"}, nil),
		provider("egg", []string{"HEN"}, []string{"EGG"}, nil),
	)
	if err == nil || !strings.Contains(err.Error(), "egg, hen wait for each other") {
		t.Errorf("got %v, want the circle named", err)
	}
}

func TestWhatWasDeclaredIsEnforced(t *testing.T) {
	r, err := capabilities.NewRegistry(
		provider("good", nil, []string{"NAME"}, []string{"NAME"}),
		provider("needy", []string{"NAME"}, nil, nil),
		provider("idle", nil, []string{"NAME"}, nil),
		provider("eager", nil, nil, []string{"NAME"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"good": nil, "needy": capabilities.ErrRequires, "idle": capabilities.ErrProvides,
		"eager": capabilities.ErrProvides, "none": capabilities.ErrUnknown,
	} {
		if _, err := r.Run(t.Context(), name, nil); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

func Example() {
	lookup := capabilities.Func(capabilities.Info{
		Name: "lookup", Description: "finds measurements by name", Provides: []string{"MEASUREMENTS"},
	}, func(context.Context, capabilities.Contexts) (capabilities.Contexts, error) {
		return capabilities.Contexts{"MEASUREMENTS": {"rain": json.RawMessage(`{"column":"precipitation"}`)}}, nil
	})
	r, err := capabilities.NewRegistry(lookup)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Run(context.Background(), "lookup", nil)
	fmt.Printf("%s %v\n", out["MEASUREMENTS"]["rain"], err)
	// Output: {"column":"precipitation"} <nil>
}
