package graph

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const longestBy = 256 // bytes

type claimKey struct{}

// claim is who makes the calls under a context, as they say.
type claim struct{ by, via string }

// AsCaller returns a context in which RunOptions.By and RunOptions.Via are by and via where a
// call leaves them empty, for programs that do not make the calls themselves. A call that a node
// makes does not see it.
func AsCaller(ctx context.Context, by, via string) context.Context {
	return context.WithValue(ctx, claimKey{}, claim{by, via})
}

// identify fills in who makes the call, and its Grace.
func (o *RunOptions) identify(ctx context.Context) {
	if d, ok := ctx.Value(graceKey{}).(time.Duration); ok && taskOf(ctx) == nil {
		o.Grace = cmp.Or(o.Grace, d)
	}
	if c, ok := ctx.Value(claimKey{}).(claim); ok && taskOf(ctx) == nil {
		o.By, o.Via = cmp.Or(o.By, c.by), cmp.Or(o.Via, c.via)
	}
	if s, ok := ctx.Value(signerKey{}).(signer); ok && taskOf(ctx) == nil {
		o.signer = s
	}
	o.Via = cmp.Or(o.Via, ViaGo)
}

// checkBy returns an ErrBy unless a name is short text of one line that reads as it is.
func checkBy(names ...string) error {
	for _, s := range names {
		if len(s) > longestBy || !utf8.ValidString(s) || strings.ContainsFunc(s, misleads) {
			return fmt.Errorf("%w: at most %d bytes of UTF-8 without control characters and marks of direction (got %.300q)", ErrBy, longestBy, s)
		}
	}
	return nil
}

// misleads reports whether r is a control character, ends a line, or changes the direction of a
// text.
func misleads(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
