package tokens_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/message/tokens"
)

func ExampleForModel() {
	counter, err := tokens.ForModel("gpt-4o")
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := counter.Text("The quick brown fox jumps over the lazy dog.")
	fmt.Println(n, err)
	n, err = counter.Count(message.User("The quick brown fox jumps over the lazy dog."))
	fmt.Println(n, err)
	// Output:
	// 10 <nil>
	// 14 <nil>
}

func TestEncodings_Count(t *testing.T) {
	for name, want := range map[string]int{
		"o200k_base": 4, "cl100k_base": 4, "p50k_base": 4, "p50k_edit": 4, "r50k_base": 4,
	} {
		c, err := tokens.ForEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Text("Hello, world!"); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, want)
		}
	}
}

func TestEncodings_UnknownModelsAndEncodingsAreNamed(t *testing.T) {
	for _, f := range []func(string) (message.Estimate, error){tokens.ForModel, tokens.ForEncoding} {
		if _, err := f("abacus"); !errors.Is(err, tokens.ErrUnknown) || !strings.Contains(err.Error(), `"abacus"`) {
			t.Errorf("got %v, want an ErrUnknown that names abacus", err)
		}
	}
}

func TestCount_TextThatIsNotUTF8(t *testing.T) {
	c, _ := tokens.ForModel("gpt-4o")
	if n, err := c.Text("a\xffb"); n == 0 || err != nil {
		t.Errorf("got %d, %v, want some tokens", n, err)
	}
}

// A tokenizer that backtracks over white space would not come back from the long texts.
func TestCount_LongRunsOfWhiteSpaceInPieces(t *testing.T) {
	c, _ := tokens.ForModel("gpt-4o")
	for _, s := range []string{strings.Repeat("\n\t", 500_000), strings.Repeat(" ", 1_000_000), "x" + strings.Repeat("\u2003", 300_000) + "y"} {
		if n, err := c.Text(s); n < 1000 || n > len(s) || err != nil {
			t.Errorf("%d bytes from %q: got %d tokens, %v", len(s), s[:4], n, err)
		}
	}
	whole, _ := c.Text(strings.Repeat(" ", 100) + "x")
	if whole > 4 {
		t.Errorf("a short run is cut: got %d tokens", whole)
	}
}

// It is meant for the race detector.
func TestCounter_ConcurrentUse(t *testing.T) {
	c, _ := tokens.ForEncoding("cl100k_base")
	want, _ := c.Text("many hands make light work")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := c.Text("many hands make light work"); got != want || err != nil {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}
