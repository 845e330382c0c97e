package tokens

import (
	"errors"
	"fmt"
	"unicode"

	"github.com/tiktoken-go/tokenizer"

	"github.com/weftrun/weft/state/message"
)

// ErrUnknown is returned when there is no vocabulary for a model or an encoding.
var ErrUnknown = errors.New("tokens: no vocabulary")

// ForModel returns the counter for a model of OpenAI, such as "gpt-4o". It is safe for concurrent
// use; create it once and reuse it.
func ForModel(model string) (message.Estimate, error) {
	c, err := tokenizer.ForModel(tokenizer.Model(model))
	return counter(c, err, "model", model)
}

// ForEncoding returns the counter for an encoding: o200k_base, cl100k_base, p50k_base,
// p50k_edit or r50k_base. It is safe for concurrent use; create it once and reuse it.
func ForEncoding(name string) (message.Estimate, error) {
	c, err := tokenizer.Get(tokenizer.Encoding(name))
	return counter(c, err, "encoding", name)
}

func counter(c tokenizer.Codec, err error, kind, name string) (message.Estimate, error) {
	if err != nil {
		return message.Estimate{}, fmt.Errorf("%w for %s %q: %w", ErrUnknown, kind, name, err)
	}
	c.SetErrorMode(tokenizer.ErrorModeReplace)
	return message.Estimate{Text: func(s string) (int, error) { return count(c, s) }}, nil
}

// longRun is the greatest number of consecutive white space characters in one piece. The time that
// the tokenizer takes for a run grows with the square of its length.
const longRun = 128

// count counts s in pieces that end where a run of white space gets too long.
func count(c tokenizer.Codec, s string) (n int, err error) {
	start, run := 0, 0
	for i, r := range s {
		if !unicode.IsSpace(r) {
			run = 0
			continue
		}
		if run++; run < longRun {
			continue
		}
		k, err := c.Count(s[start:i])
		if err != nil {
			return 0, err
		}
		n, start, run = n+k, i, 0
	}
	k, err := c.Count(s[start:])
	return n + k, err
}
