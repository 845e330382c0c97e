package redis

import (
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// answer is a script's reply: a letter, and what goes with it.
type answer struct {
	code string
	rest []any
}

func toAnswer(reply any) answer {
	switch r := reply.(type) {
	case string:
		return answer{code: r}
	case []any:
		a := answer{rest: r}
		a.code = a.text(0)
		if len(r) > 0 {
			a.rest = r[1:]
		}
		return a
	}
	return answer{}
}

// text returns part i, "" when it is not there.
func (a answer) text(i int) string {
	if i < len(a.rest) {
		s, _ := a.rest[i].(string)
		return s
	}
	return ""
}

// list returns part i, nil when it is not there.
func (a answer) list(i int) []any {
	if i < len(a.rest) {
		l, _ := a.rest[i].([]any)
		return l
	}
	return nil
}

func (a answer) number(i int) uint64 {
	var n uint64
	for _, c := range []byte(a.text(i)) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// refusal returns the error of an answer that is not K. want is the head that was
// asked for.
func (a answer) refusal(k checkpoint.Key, want uint64) error {
	switch a.code {
	case "K":
		return nil
	case "C":
		return &checkpoint.ConflictError{Key: k, Want: want, Head: a.number(0)}
	case "F":
		return &checkpoint.FencedError{Thread: k.Thread, Owner: a.text(0)}
	case "N":
		return fmt.Errorf("%w: redis: thread %q, namespace %q", checkpoint.ErrNotFound, k.Thread, k.Namespace)
	case "X":
		return fmt.Errorf("redis: thread %q, namespace %q: the blob %q is stored already; a blob is written once", k.Thread, k.Namespace, a.text(0))
	case "U":
		return foreign(k.Thread, a.text(0))
	}
	return fmt.Errorf("%w: redis: thread %q: the server's answer %q makes no sense", checkpoint.ErrUnavailable, k.Thread, a.code)
}

// foreign is the error of a key that is not the thread's, or not of this layout.
func foreign(thread, found string) error {
	if found != "" && found[1:] == thread {
		return fmt.Errorf("%w: redis: thread %q has layout %q, this version knows %s; use a newer version of the program", checkpoint.ErrUnsupported, thread, found[:1], layout)
	}
	return fmt.Errorf("%w: redis: the key of thread %q belongs to %q", checkpoint.ErrUnsupported, thread, found)
}
